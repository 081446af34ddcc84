"""The algorithms the paper compares itself with, on the same rows and losses, behind one interface.

========== ============== ======= ===========================================================
name       class          streams what it is
========== ============== ======= ===========================================================
sgd        `SGD`          yes     plain SGD, learning rate as 1/t, last iterate
sgd2       `SGD2`         yes     the same; its learning rate is tried out on the first rows
pegasos    `Pegasos`      yes     steps of 1/(λt), projected on a ball
sgd_qn     `SGDQN`        yes     a gain for each coordinate, from ratios of differences
olbfgs     `OLBFGS`       yes     limited-memory BFGS on mini-batches
liblinear  `LIBLINEAR`    no      dual coordinate descent; ``max_iter`` outer iterations
batch      `Batch`        no      the exact minimiser
========== ============== ======= ===========================================================

All are scikit-learn estimators: ``fit(X, y)``, ``decision_function``, ``predict``, ``score``,
``coef_``, ``intercept_``, ``n_features_in_``, ``get_params`` and ``set_params``; X is an array or a
scipy CSR matrix of float32 or float64, y has two classes. Those that stream have ``partial_fit(X,
y, classes=[...])``, and how the rows are split changes no bit: measure between the calls to see
how a rival fares within a pass, and call it with the same rows again for a second pass.

Parameters common to all: ``loss`` ("squared_hinge", "hinge" or "log_loss"; ``losses`` of each
class says which it has), ``alpha`` (the paper's λ in ``mean loss + λ/2 |coef|²``) and
``fit_intercept``. `RIVALS` lists the classes by name; docs/rivals.md says what each does.

Examples
--------
>>> from sklearn.datasets import make_classification
>>> X, y = make_classification(3000, class_sep=2.0, random_state=0)
>>> for name, rival in RIVALS.items():
...     model = rival(loss="squared_hinge", alpha=1e-3).fit(X, y)
...     assert model.score(X, y) > 0.9, name
"""

from reproduction.rivals.base import Rival, StreamingRival
from reproduction.rivals.batch import Batch
from reproduction.rivals.liblinear import LIBLINEAR
from reproduction.rivals.olbfgs import OLBFGS
from reproduction.rivals.pegasos import Pegasos
from reproduction.rivals.sgd import SGD
from reproduction.rivals.sgd2 import SGD2
from reproduction.rivals.sgd_qn import SGDQN

RIVALS: dict[str, type[Rival]] = {
    "sgd": SGD,
    "sgd2": SGD2,
    "pegasos": Pegasos,
    "sgd_qn": SGDQN,
    "olbfgs": OLBFGS,
    "liblinear": LIBLINEAR,
    "batch": Batch,
}
"""Every rival by its name."""

__all__ = [
    "LIBLINEAR",
    "OLBFGS",
    "RIVALS",
    "SGD",
    "SGD2",
    "SGDQN",
    "Batch",
    "Pegasos",
    "Rival",
    "StreamingRival",
]
