"""``polyak evaluate``: how good a model is on rows with known targets."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from polyak.cli.errors import say
from polyak.cli.options.arguments import Parser, add_json, add_model, add_source

if TYPE_CHECKING:
    from polyak.data.options import Columns
    from polyak.data.stream import Stream
    from polyak.model.evaluation import Evaluation
    from polyak.model.linear import LinearModel
    from polyak.rows.batch import Batch

MOST_GROUPS = 1000
EXAMPLE = """\
example:
  polyak evaluate flights.polyak tomorrow.csv --by carrier
"""


def parser() -> Parser:
    """Return the parser of the arguments."""
    parser = Parser(
        "evaluate", "Compare the predictions of a model with known targets.", epilog=EXAMPLE
    )
    add_model(parser)
    add_source(parser)
    parser.add_argument(
        "--by",
        metavar="COLUMN",
        help="also evaluate the rows of each value of this column separately",
    )
    for role in ("target", "weight"):
        parser.add_argument(
            f"--{role}",
            metavar="ARRAY",
            help=f"the {role}s of a NumPy file: a .npy file, or an array of the .npz file",
        )
    add_json(parser)
    return parser


def run(options: Namespace) -> int:
    """Run the command."""
    from polyak.cli.output import print_figures
    from polyak.data.options import Columns
    from polyak.model.linear import LinearModel

    options.keep = [options.by] if options.by else []
    measured = Measured(LinearModel.load(options.model))
    columns = Columns(target=options.target, weight=options.weight, names=0)
    figures = measured.read(options.source, options, columns)
    if options.json:
        print_figures(figures | measured.tables(), True)
        return 0
    print_figures(with_errors(figures))
    _print_tables(measured.tables())
    return 0


def with_errors(figures: dict[str, Any]) -> dict[str, Any]:
    """Write the standard error of a figure beside it, for the screen; the error is a rate there."""
    from polyak.cli.output import number

    return {
        "error_rate" if name == "error" else name: f"{number(value)} ± {error:.2g}"
        if (error := figures.get(f"{name}_std_err")) is not None
        else value
        for name, value in figures.items()
        if not name.endswith("_std_err")
    }


class Measured:
    """Rows compared with a model's predictions: all of them, and those of each group."""

    def __init__(self, model: LinearModel) -> None:
        from polyak.model.checking import Check

        self._model = model
        self.check = Check(model)
        self._groups: dict[str, Evaluation] = {}

    def read(
        self, source: Any, options: Namespace, columns: Columns | None = None
    ) -> dict[str, Any]:
        """Read all rows of a source, and return the figures that are one number each."""
        from polyak.cli.source import open_for
        from polyak.errors import DataError, RowError
        from polyak.training.bad_rows import name_row

        with open_for(self._model, source, options, columns=columns) as stream:
            named = columns is not None and (columns.target or columns.weight)
            if named and stream.format not in ("npy", "npz"):
                raise ValueError(
                    "the model knows the columns of its table: --target and --weight are for NumPy "
                    "files"
                )
            if getattr(options, "keep", None) and stream.schema is None:
                raise ValueError(f"{stream.format} rows have no columns: --by needs a table")
            self._check_outputs(stream)
            unknown: str | None = None
            for batch in stream:
                if batch.targets is None:
                    raise DataError(
                        f"{stream.name} has no targets to compare with: put X and y into one .npz "
                        "file, or name them with polyak evaluate --target"
                    )
                before = stream.rows_read - len(batch)
                try:
                    self._add(batch)
                except RowError as error:
                    raise DataError(name_row(error, batch, before)) from error
                unknown = unknown or self._unknown(batch, before)
            for line in stream.first_bad_lines:
                say(f"skipped {line}")
            skipped = {"bad_lines": stream.bad_lines} if stream.bad_lines else {}
        figures = self.check.figures()
        if unknown is not None:
            say(
                f"warning: {figures['rows_of_unknown_classes']:,} rows have a class that the model "
                f"does not know ({unknown}): they count as errors, the other figures are of the "
                "rows without them"
            )
        return figures | skipped

    def _check_outputs(self, stream: Stream) -> None:
        """Raise DataError if a row has several targets, but not as many as the model."""
        from polyak.errors import DataError

        model = self._model
        own = len(model.intercept) if model.classes is None or model.multilabel else 1
        if stream.outputs not in (1, own):
            raise DataError(
                f"{stream.name} has {stream.outputs} targets per row, but the model has {own}"
            )

    def tables(self) -> dict[str, Any]:
        """Return the figures that are tables: confusion, calibration, groups."""
        found = self.check.tables()
        if self._groups:
            groups = sorted(self._groups.items())
            found["by"] = {name: group.report() | group.std_errors() for name, group in groups}
        return found

    def _add(self, batch: Batch) -> None:
        assert batch.targets is not None
        scores = self._model.scores(batch.rows)
        self.check.add(scores, batch.targets, batch.weights)
        if batch.kept is not None:
            self._add_groups(scores, batch)

    def _unknown(self, batch: Batch, before: int) -> str | None:
        """Return the place of the first row of a class that the model does not know."""
        from polyak.errors import RowError
        from polyak.model.metrics import known_classes
        from polyak.rows.label_text import label_text
        from polyak.training.bad_rows import name_row

        assert batch.targets is not None
        known = known_classes(self._model, batch.targets)
        if known.all():
            return None
        row = int(known.argmin())
        what = f" has the label {label_text(batch.targets[row])}"
        return name_row(RowError(row, what), batch, before)

    def _add_groups(self, scores: Any, batch: Batch) -> None:
        import numpy as np

        from polyak.data.tables.targets import words_of
        from polyak.errors import DataError
        from polyak.model.evaluation import Evaluation

        assert batch.kept is not None
        assert batch.targets is not None
        values, there = words_of(batch.kept.column(0))
        names, group = np.unique(
            np.where(there, values, "missing").astype(str), return_inverse=True
        )
        for number, name in enumerate(names.tolist()):
            chosen = group == number
            own = self._groups.setdefault(name, Evaluation(self._model))
            weights = None if batch.weights is None else batch.weights[chosen]
            own.add_scores(scores[chosen], batch.targets[chosen], weights)
        if len(self._groups) > MOST_GROUPS:
            raise DataError(
                f"the column {batch.kept.schema.names[0]} has more than {MOST_GROUPS} different "
                "values: too many groups"
            )


def _print_tables(tables: dict[str, Any]) -> None:
    from polyak.cli.output import number, print_table

    if "confusion" in tables:
        names = list(tables["confusion"])
        print()
        rows = tables["confusion"].items()
        print_table(
            ["true \\ predicted", *names],
            [[true, *map(number, row.values())] for true, row in rows],
        )
    if "calibration" in tables:
        print()
        print_table(
            ["probability", "true share", "rows"],
            [
                [f"{row['predicted']:.3f}", f"{row['true']:.3f}", f"{row['rows']:,.0f}"]
                for row in tables["calibration"]
            ],
        )
    if "by" in tables:
        groups = {name: with_errors(group) for name, group in tables["by"].items()}
        heads = list(next(iter(groups.values())))
        print()
        print_table(
            ["group", *(name.replace("_", " ") for name in heads)],
            [[name, *(number(group[head]) for head in heads)] for name, group in groups.items()],
        )
