"""A scikit-learn pipeline with a grid search over what the race does not search.

The race finds learning rate, decay, penalty and preconditioner by itself. What stands before the
model, and the loss, are for a grid.

    python examples/pipeline_with_grid_search.py
    python examples/pipeline_with_grid_search.py --rows 200000
"""

from __future__ import annotations

import argparse

from sklearn.datasets import make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from polyak import ASGDClassifier


def main() -> None:
    """Search, and compare with the default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()

    X, y = make_classification(
        options.rows, 10, n_informative=6, n_clusters_per_class=3, flip_y=0.02, random_state=0
    )
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    pipeline = Pipeline(
        [
            ("scale", StandardScaler()),
            ("kernel", "passthrough"),  # or kernel features, for a nonlinear model
            ("learn", ASGDClassifier(random_state=0)),
        ]
    )
    grid = {
        "kernel": ["passthrough", Nystroem(n_components=100, gamma=0.1, random_state=0)],
        "learn__loss": ["log_loss", "squared_hinge"],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X_train, y_train)

    print(f"default         {pipeline.fit(X_train, y_train).score(X_test, y_test):.3f}")
    print(f"after searching {search.score(X_test, y_test):.3f}")
    for name, value in search.best_params_.items():
        print(f"  {name} = {value}")


if __name__ == "__main__":
    main()
