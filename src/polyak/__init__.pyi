# The lazy attributes of `__init__.py`, for type checkers.
from polyak import plot as plot
from polyak.data.open import open_stream as open_stream
from polyak.estimators import ASGDClassifier as ASGDClassifier
from polyak.estimators import ASGDRegressor as ASGDRegressor
from polyak.learn.learner import Learner as Learner
from polyak.learn.recipes import Recipe as Recipe
from polyak.model.linear import LinearModel as LinearModel
from polyak.reporting import report as report

__version__: str
