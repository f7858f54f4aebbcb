"""pyproximal: the generalised forward-backward splitting of Raguet, Fadili and Peyre."""

import numpy as np
from benchopt import BaseSolver
from pyproximal import ProxOperator
from pyproximal.optimization.primal import GeneralizedProximalGradient


class Smooth(ProxOperator):
    """f as pyproximal sees it; values are not asked for."""

    def __init__(self, f: object, shape: tuple[int, ...]) -> None:
        super().__init__(None, True)
        self.grad = lambda x: f.grad(x.reshape(shape)).reshape(-1)

    def __call__(self, x: np.ndarray) -> float:
        return 0.0


class Map(ProxOperator):
    """A term as pyproximal sees it."""

    def __init__(self, term: object, shape: tuple[int, ...]) -> None:
        super().__init__(None, False)
        self.term, self.shape = term, shape

    def __call__(self, x: np.ndarray) -> float:
        return 0.0

    def prox(self, x: np.ndarray, tau: float) -> np.ndarray:
        return self.term.prox(x.reshape(self.shape), tau).reshape(-1)


class Solver(BaseSolver):
    """The step is 1 / L."""

    name = "pyproximal"
    requirements = ["pip::pyproximal"]

    def skip(self, f: object, g: object, h: object, x0: np.ndarray) -> tuple[bool, str | None]:
        return getattr(f, "lipschitz", None) is None, "f does not know its smoothness constant"

    def set_objective(self, f: object, g: object, h: object, x0: np.ndarray) -> None:
        self.smooth, self.maps = Smooth(f, x0.shape), [Map(term, x0.shape) for term in (g, h)]
        self.x0, self.step = x0, 1 / f.lipschitz

    def run(self, n_iter: int) -> None:
        flat = self.x0.reshape(-1)
        found = GeneralizedProximalGradient([self.smooth], self.maps, flat, self.step, niter=max(n_iter, 1))
        self.x = found.reshape(self.x0.shape)

    def get_result(self) -> dict[str, np.ndarray]:
        return {"x": self.x}
