"""Recipes: from what a user asked for and the first rows to the candidates that will learn."""

from polyak.learn.recipes.candidates import (
    AlphaCandidate,
    AnyCandidate,
    Candidate,
    DenseCandidate,
    NewtonCandidate,
    TermsCandidate,
)
from polyak.learn.recipes.recipe import Recipe

__all__ = [
    "AlphaCandidate",
    "AnyCandidate",
    "Candidate",
    "DenseCandidate",
    "NewtonCandidate",
    "Recipe",
    "TermsCandidate",
]
