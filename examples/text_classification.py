"""Which package does a docstring come from? Text classification without a download.

The texts are the docstrings of packages that are installed beside polyak, read without importing
them. The names of the packages themselves are taken out, since they would give the answer away.

    python examples/text_classification.py
    python examples/text_classification.py --files 100000    # every file there is
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import random
import re
import sysconfig
from pathlib import Path

from sklearn.feature_extraction.text import HashingVectorizer

from polyak import ASGDClassifier

PACKAGES = ("numpy", "scipy", "sklearn")
GIVEAWAYS = re.compile(r"\b(numpy|np|scipy|sp|sklearn|scikit|learn|python)\b", re.IGNORECASE)


def folders() -> dict[str, Path]:
    """Return the folders of the packages and of the standard library."""
    found = {"python": Path(sysconfig.get_path("stdlib"))}
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            found[name] = Path(spec.origin).parent
    return found


def docstrings(folder: Path, most_files: int) -> list[str]:
    """Return the docstrings of a folder's files, without very short ones."""
    files = []
    for place, folders_within, names in os.walk(folder):
        # Other packages are in folders of the standard library; tests are not typical of a package.
        folders_within[:] = sorted(set(folders_within) - {"site-packages", "test", "tests"})
        files += [Path(place) / name for name in sorted(names) if name.endswith(".py")]
    texts = []
    for file in random.Random(0).sample(files, min(most_files, len(files))):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):  # some test files are invalid on purpose
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = GIVEAWAYS.sub(" ", ast.get_docstring(node) or "")
                if len(text.split()) >= 5:
                    texts.append(text)
    return texts


def main() -> None:
    """Collect docstrings, learn them in one pass, and print the accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=60, help="the most files per package")
    options = parser.parse_args()

    rows = [
        (text, name)
        for name, folder in folders().items()
        for text in docstrings(folder, options.files)
    ]
    random.Random(0).shuffle(rows)
    texts, names = zip(*rows, strict=True)
    cut = len(rows) * 4 // 5

    words = HashingVectorizer(n_features=2**16, alternate_sign=False)
    model = ASGDClassifier(random_state=0)
    model.fit(words.transform(texts[:cut]), names[:cut])
    accuracy = model.score(words.transform(texts[cut:]), names[cut:])

    most = max(names.count(name) for name in set(names)) / len(names)
    print(f"{cut:,} docstrings of {', '.join(model.classes_)}; {len(rows) - cut:,} held out")
    print(f"accuracy on held-out rows    {accuracy:.3f}")
    print(f"progressive accuracy         {model.progressive_score_:.3f}")
    print(f"of the most frequent class   {most:.3f}")
    for text in ("Open a socket and wait for a client.", "Fit the model to the training data."):
        print(f"{text!r}: {model.predict(words.transform([text]))[0]}")


if __name__ == "__main__":
    main()
