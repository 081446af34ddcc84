"""``polyak evaluate``: how good a model is on rows with known targets."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from polyak.cli.arguments import Parser, add_json, add_model, add_source
from polyak.cli.errors import say
from polyak.cli.reading import begin_reading
from polyak.data.head_start import HeadStart


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("evaluate", "Measure a model's loss and error on a source with targets.")
    add_model(parser)
    add_source(parser)
    add_json(parser)
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    begun = begin_reading(options)
    from polyak.cli.output import print_figures
    from polyak.model.linear import LinearModel

    figures = measure(LinearModel.load(options.model), options.source, options, begun)
    print_figures(figures, options.json)
    return 0


def measure(
    model: Any, source: Any, options: Namespace, begun: HeadStart | None = None
) -> dict[str, Any]:
    """Stream a source through a model and report."""
    from polyak.cli.source import open_for
    from polyak.model.evaluation import Evaluation

    evaluation = Evaluation(model)
    with open_for(model, source, options, begun=begun) as stream:
        for batch in stream:
            evaluation.add(batch.rows, batch.targets, batch.weights)
        for line in stream.first_bad_lines:
            say(f"skipped {line}")
        skipped = {"bad_lines": stream.bad_lines} if stream.bad_lines else {}
    return evaluation.report() | skipped
