"""Where the real sets can be had: their homes, and the checksums of their files.

A checksum is written here only where a second project that many people use publishes it:
scikit-learn for the copies of covtype and rcv1, torchvision for mnist. For the other files none
is known; the first download's is then kept beside the file, so that a later one can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from reproduction.datasets import pascal

CHALLENGE = "ftp://largescale.ml.tu-berlin.de/largescale"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
FIGSHARE = "https://ndownloader.figshare.com/files"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a set: where to put it, where to get it, and its checksum if one is known.

    A checksum is spelled ``algorithm:digits``, as ``sha256:…`` or ``md5:…``.
    """

    path: str
    url: str
    checksum: str | None = None


def _lewis(file: str, number: int, sha256: str) -> RemoteFile:
    return RemoteFile(f"rcv1/{file}.gz", f"{FIGSHARE}/{number}", f"sha256:{sha256}")


def _mnist(file: str, md5: str) -> RemoteFile:
    return RemoteFile(f"mnist/{file}.gz", f"{MNIST}/{file}.gz", f"md5:{md5}")


_MNIST = (
    _mnist("train-images-idx3-ubyte", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    _mnist("train-labels-idx1-ubyte", "d53e105ee54ea40749a09fcbcd1e9432"),
    _mnist("t10k-images-idx3-ubyte", "9fb629c4189551a2d022fa330f9573f3"),
    _mnist("t10k-labels-idx1-ubyte", "ec29112dd5afa0611ce80d1b7f02629c"),
)

DOWNLOADS: dict[str, tuple[RemoteFile, ...]] = {
    "covtype": (
        RemoteFile(
            "covtype/covtype.data.gz",
            f"{FIGSHARE}/5976039",
            "sha256:614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
        ),
    ),
    "rcv1": (
        _lewis(
            "lyrl2004_vectors_test_pt0.dat",
            5976069,
            "ed40f7e418d10484091b059703eeb95ae3199fe042891dcec4be6696b9968374",
        ),
        _lewis(
            "lyrl2004_vectors_test_pt1.dat",
            5976066,
            "87700668ae45d45d5ca1ef6ae9bd81ab0f5ec88cc95dcef9ae7838f727a13aa6",
        ),
        _lewis(
            "lyrl2004_vectors_test_pt2.dat",
            5976063,
            "48143ac703cbe33299f7ae9f4995db49a258690f60e5debbff8995c34841c7f5",
        ),
        _lewis(
            "lyrl2004_vectors_test_pt3.dat",
            5976060,
            "dfcb0d658311481523c6e6ca0c3f5a3e1d3d12cde5d7a8ce629a9006ec7dbb39",
        ),
        _lewis(
            "lyrl2004_vectors_train.dat",
            5976057,
            "5468f656d0ba7a83afc7ad44841cf9a53048a5c083eedc005dcdb5cc768924ae",
        ),
        _lewis(
            "rcv1-v2.topics.qrels",
            5976048,
            "2a98e5e5d8b770bded93afc8930d88299474317fe14181aee1466cc754d0d1c1",
        ),
    ),
    "mnist9": _MNIST,
    **{
        name: tuple(
            RemoteFile(
                f"pascal/{name}_train.{kind}.bz2", f"{CHALLENGE}/{name}/{name}_train.{kind}.bz2"
            )
            for kind in ("dat", "lab")
        )
        for name in pascal.NAMES
    },
    "epsilon": tuple(
        RemoteFile(f"epsilon/{file}", f"{LIBSVM}/{file}")
        for file in ("epsilon_normalized.bz2", "epsilon_normalized.t.bz2")
    ),
}
"""The files of each set that can be fetched."""
