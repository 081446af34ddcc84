"""The race: candidates learn the same rows side by side, and the best one is the model.

Every candidate is scored on each row before it learns it. Each time the number of rows doubles,
those whose loss since the last doubling was highest are eliminated, so that few are left when rows
are many. A recipe with a single candidate, as the paper's, is a race of one.
"""

from polyak.learn.race.race import Leader, Race

__all__ = ["Leader", "Race"]
