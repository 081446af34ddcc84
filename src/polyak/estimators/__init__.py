"""scikit-learn's face: estimators that hand rows to the learner and give its model to the user."""

from polyak.estimators.classifier import ASGDClassifier
from polyak.estimators.regressor import ASGDRegressor

__all__ = ["ASGDClassifier", "ASGDRegressor"]
