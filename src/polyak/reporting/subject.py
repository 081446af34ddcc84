"""The subject of a page: a model, and an evaluation of its predictions."""

from __future__ import annotations

from dataclasses import dataclass

from polyak.model.linear import LinearModel
from polyak.model.training_report import CheckReport, Measure, TrainingReport
from polyak.reporting.words import count
from polyak.rows.label_text import label_text


@dataclass(frozen=True, slots=True)
class Subject:
    """A model and, if it was evaluated, the name of the data and the result."""

    model: LinearModel
    on: tuple[str, CheckReport] | None = None

    @property
    def report(self) -> TrainingReport | None:
        """The training report."""
        return self.model.report

    @property
    def check(self) -> CheckReport | None:
        """The evaluation to show: on the given data, or on later rows during training."""
        if self.on is not None:
            return self.on[1]
        return None if self.report is None else self.report.check

    @property
    def recent(self) -> Measure:
        """Loss and error on rows not learned yet."""
        found = None if self.report is None else self.report.recent
        return found or Measure()

    @property
    def checked_on(self) -> str:
        """The rows of the evaluation, as text."""
        if self.on is not None:
            return f"{count(self.on[1].rows, 'row')} of {self.on[0]}"
        rows = self.recent.rows if self.check is None else self.check.rows
        return f"{count(rows, 'row')} of the later half, each predicted before it was learned"

    @property
    def rows(self) -> int | None:
        """The number of distinct rows learned."""
        report = self.report
        if report is None:
            return None
        if report.distinct_rows is not None:
            return report.distinct_rows
        return round(report.rows / max(report.passes, 1))

    @property
    def target(self) -> str | None:
        """The name of the target column."""
        schema = self.model.features.schema
        return None if schema is None or schema.target is None else schema.target.name

    @property
    def classes(self) -> list[str]:
        """The names of the classes; empty for regression."""
        known = self.model.classes
        return [] if known is None else [label_text(label) for label in known]
