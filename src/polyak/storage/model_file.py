"""Model files: a `LinearModel` as one ``.polyak`` file.

The page of JSON says what the model is, how a source becomes its features and how it was learned;
the arrays are ``intercept``, perhaps ``sigmoids``, ``reach``, and ``replicas`` or a ``sandwich``,
the names of features, and the weights: either ``weights`` whole (features x outputs) or, where most
features weigh nothing, ``indices`` of those that do and their ``values``.
`polyak.storage.container` has the rest.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.errors import ModelFileError
from polyak.free_memory import check_memory
from polyak.losses import get_loss
from polyak.rows.labels import labels_from_json, labels_to_json
from polyak.storage.container import Arrays, Page, plain, read_file, write_file
from polyak.storage.feature_names import FeatureNames
from polyak.storage.records import read, whole
from polyak.storage.sandwich import sandwich_arrays, sandwich_from

KIND = "model"
FORMAT = 1
"""The one format there is; a file of a higher number is refused as that of a newer version."""


class ModelPage(NamedTuple):
    """The entries of the page that every model has."""

    loss: str
    classes: dict[str, Any] | None
    features: dict[str, Any]
    report: dict[str, Any] | None
    softmax: bool
    multilabel: bool
    terms: dict[str, Any] | None = None
    offset: int | None = None


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a `LinearModel` to a file."""
    page: Page = {
        "kind": KIND,
        "format": FORMAT,
        "loss": model.loss,
        "classes": None if model.classes is None else labels_to_json(model.classes),
        "features": {"count": len(model.weights)} | plain(model.features) | {"names": {}},
        "report": plain(model.report),
        "terms": plain(model.terms),
        "offset": model.offset,
        "softmax": model.softmax,
        "multilabel": model.multilabel,
    }
    arrays: Arrays = {"intercept": model.intercept} | _weights_to_arrays(model.weights)
    arrays |= FeatureNames.of(model.features.names).arrays()
    for name in ("sigmoids", "reach", "replicas"):
        if (array := getattr(model, name)) is not None:
            arrays[name] = array
    if model.sandwich is not None:
        arrays |= sandwich_arrays(model.sandwich)
    write_file(path, page, arrays)


def load_model(
    path: str | os.PathLike[str], features: type[Any], report: type[Any], terms: type[Any]
) -> dict[str, Any]:
    """Return the fields of a `LinearModel` that was saved to a file.

    What is said of its features and of its training is made into the dataclasses given.
    `ModelFileError` says in one sentence why a file cannot be read.
    """
    page, arrays = read_file(path, KIND, FORMAT)
    try:
        return _model(page, arrays, features, report, terms)
    except (KeyError, TypeError, ValueError, MemoryError) as error:
        # The checksum was right, so someone wrote this on purpose.
        raise ModelFileError(f"{os.fspath(path)} is not a valid model: {error}") from error


def _model(
    page: Page, arrays: Arrays, features: type[Any], report: type[Any], terms: type[Any]
) -> Page:
    loss, labels, described, told, softmax, multilabel, expanded, offset = read(
        ModelPage, page, "page"
    )
    classes = None if labels is None else labels_from_json(labels)
    if get_loss(loss).classifies != (classes is not None):
        raise ValueError(f"classes and the loss {loss} do not fit each other")
    whole()(described.get("count"), "features.count")
    weights = _weights_from_arrays(arrays, described["count"])
    outputs = weights.shape[1]
    if classes is None and multilabel:
        raise ValueError("it has several labels, but does not say which")
    if classes is not None and len(classes) < 2:
        raise ValueError("it has fewer than two classes")
    one = classes is not None and len(classes) == 2 and not multilabel
    if classes is not None and outputs != (1 if one else len(classes)):
        raise ValueError(f"it has {len(classes)} classes but {outputs} outputs")
    if softmax and (outputs == 1 or (loss != "log_loss" and "sigmoids" not in arrays)):
        raise ValueError("it has a softmax of what are not the scores of several classes")
    if "intercept" not in arrays:
        raise ValueError("it has no intercept")
    if offset is not None and not 0 <= offset < len(weights):
        raise ValueError("its offset is not one of its features")
    intercept = arrays["intercept"]
    _check_shape("intercept", intercept, (outputs,))
    for name, shape in (("sigmoids", (outputs, 2)), ("reach", (2, outputs))):
        if name in arrays:
            _check_shape(name, arrays[name], shape)
    found = _features(read(features, described, "features"), arrays)
    if expanded is None and found.width is not None and len(weights) > found.width:
        raise ValueError(f"its features.count is {len(weights)}, more than its {found.width}")
    replicas = arrays.get("replicas")
    if replicas is not None and (
        replicas.ndim != 3
        or replicas.shape[1:] != (len(weights) + 1, outputs)
        or replicas.dtype != weights.dtype
    ):
        raise ValueError("its replicas have the wrong shape or type")
    return {
        "weights": weights,
        "intercept": intercept,
        "loss": loss,
        "classes": classes,
        "sigmoids": arrays.get("sigmoids"),
        "offset": offset,
        "reach": arrays.get("reach"),
        "softmax": softmax,
        "multilabel": multilabel,
        "replicas": replicas,
        "sandwich": sandwich_from(arrays, len(weights), outputs),
        "features": found,
        "terms": None if expanded is None else read(terms, expanded, "terms"),
        "report": None if told is None else read(report, told, "report"),
    }


def _features(found: Any, arrays: Arrays) -> Any:
    """Add the names that are kept apart from the page."""
    names = FeatureNames.from_arrays(arrays)
    return replace(found, names=names) if names else found


def _weights_to_arrays(weights: NDArray[Any]) -> Arrays:
    features = len(weights)
    used = np.flatnonzero(weights.any(axis=1))
    indices = used.astype(np.int32 if features <= 2**31 else np.int64)
    if indices.nbytes + weights[:1].nbytes * len(used) < weights.nbytes:
        return {"indices": indices, "values": weights[used]}
    return {"weights": weights}


def _weights_from_arrays(arrays: Arrays, features: int) -> NDArray[Any]:
    whole = arrays.get("weights", arrays.get("values"))
    if whole is None or ("weights" not in arrays and "indices" not in arrays):
        raise ValueError("it has no weights")
    if whole.ndim != 2 or whole.dtype not in (np.float32, np.float64) or not whole.shape[1]:
        raise ValueError("its weights are not a table of floats")
    if "weights" not in arrays:
        indices = arrays["indices"]
        if indices.dtype.kind != "i" or indices.shape != whole.shape[:1]:
            raise ValueError("its indices do not fit its values")
        if len(indices) and not (indices.min() >= 0 and indices.max() < features):
            raise ValueError("it has an index beyond its features")
        check_memory(features * whole.shape[1] * whole.itemsize, features)
        values, whole = whole, np.zeros((features, whole.shape[1]), whole.dtype)
        whole[indices] = values
    if len(whole) != features:
        raise ValueError(f"it has {len(whole)} weights for {features} features")
    return whole


def _check_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"its {name} has the wrong shape or type")
