"""Figures that say how good a model is, each added up row by row."""
