from numpy import float32, float64, int32, int64
from numpy.typing import NDArray

class Rival:
    def learn_sparse(
        self,
        loss: str,
        offsets: NDArray[int64],
        indices: NDArray[int32],
        values: NDArray[float32],
        y: NDArray[float64],
    ) -> bool: ...
    def learn_dense(self, loss: str, values: NDArray[float32], y: NDArray[float64]) -> bool: ...
    def coef(self) -> NDArray[float64]: ...

class Sgd(Rival):
    def __init__(
        self, features: int, alpha: float, gamma0: float, decay: float, first: float
    ) -> None: ...

class Asgd(Rival):
    def __init__(
        self, features: int, alpha: float, gamma0: float, power: float, t0: int
    ) -> None: ...

class Pegasos(Rival):
    def __init__(self, features: int, alpha: float) -> None: ...

class SgdQn(Rival):
    def __init__(
        self, features: int, alpha: float, gamma0: float, t0: float, skip: int
    ) -> None: ...

class Olbfgs(Rival):
    def __init__(
        self,
        features: int,
        alpha: float,
        eta0: float,
        tau: float,
        damping: float,
        batch: int,
        memory: int,
    ) -> None: ...
