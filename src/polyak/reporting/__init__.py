"""The report: a model and its training on one self-contained HTML page."""

from polyak.reporting.page import report

__all__ = ["report"]
