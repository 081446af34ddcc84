"""The report page: one HTML file with a section for each kind of information."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from polyak.model.checking import Check
from polyak.model.linear import LinearModel
from polyak.model.training_report import CheckReport
from polyak.reporting.markup import Markup, element, joined
from polyak.reporting.opening import figures, headline, lead
from polyak.reporting.sections import sections
from polyak.reporting.subject import Subject


def report(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    on: tuple[Any, Any] | None = None,
) -> str:
    """Write a report on a model: one self-contained HTML page without scripts.

    It shows the features with the largest effects and their intervals, how columns were read, the
    loss while learning, the race of the candidates, the calibration, the learning rate and a
    summary, as far as they are known.

    Parameters
    ----------
    source : LinearModel, fitted estimator, or the path of a model file
    path : path, optional
        The file to write.
    title : str, optional
        The name of the model on the page.
    on : (X, y), optional
        Rows to evaluate the model on, such as a test set: the page then shows figures on these
        rows, with a confusion matrix or residuals.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import numpy as np
    >>> from polyak import ASGDClassifier, report
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> page = report(ASGDClassifier().fit(X, X[:, 0] > 0), on=(X, X[:, 0] > 0))
    >>> page[:15], "Confusion matrix" in page
    ('<!doctype html>', True)
    """
    model = LinearModel.of(source)
    if on is None:
        return write_page(model, path, title=title)
    predicts = source if hasattr(source, "predict") else model
    return write_page(
        model, path, title=title, on=("the data given", _checked(predicts, model, on))
    )


def _checked(predicts: Any, model: LinearModel, on: tuple[Any, Any]) -> CheckReport:
    X, y = on
    targets = np.asarray(y)
    scores = predicts.predict(X) if model.classes is None else predicts.decision_function(X)
    check = Check(model)
    check.add(np.asarray(scores, dtype=np.float64).reshape(len(targets), -1), targets)
    return check.report()


def write_page(
    model: LinearModel,
    path: str | os.PathLike[str] | None,
    *,
    title: str | None = None,
    on: tuple[str, CheckReport] | None = None,
) -> str:
    """Write the page about a model; ``on`` is the name and result of an evaluation."""
    page = _page(Subject(model, on), title)
    if path is not None:
        from polyak.storage.container import write_bytes

        write_bytes(path, page.encode())
    return page


def _page(subject: Subject, title: str | None) -> str:
    from importlib.metadata import version

    name = headline(subject)
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{title or name[:1].upper() + name[1:]} · polyak"),
        element("style", _style()),
    )
    kicker = joined("polyak", f" · {title}" if title else "")
    body = element(
        "main",
        element(
            "header",
            element("p", kicker, class_="kicker"),
            element("h1", name),
            element("p", lead(subject), class_="lead"),
        ),
        figures(subject),
        *sections(subject),
        element("footer", f"Made by polyak {version('polyak')}."),
    )
    return "<!doctype html>\n" + element(
        "html", element("head", head), "\n", element("body", body), lang="en"
    )


def _style() -> Markup:
    return Markup(Path(__file__).with_name("style.css").read_text("utf-8"))
