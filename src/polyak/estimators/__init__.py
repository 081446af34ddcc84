"""The scikit-learn estimators."""

from polyak.estimators.classifier import ASGDClassifier
from polyak.estimators.regressor import ASGDRegressor

__all__ = ["ASGDClassifier", "ASGDRegressor"]
