"""A page to look at: what a model is and how it was learned, as one self-contained HTML file."""

from polyak.reporting.page import report

__all__ = ["report"]
