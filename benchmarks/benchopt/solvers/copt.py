"""copt: its three operator splitting with a line search."""

import numpy as np
from benchopt import BaseSolver
from copt import minimize_three_split


class Solver(BaseSolver):
    """It takes vectors; arrays of other shapes are reshaped."""

    name = "copt"
    requirements = ["pip::copt"]

    def set_objective(self, f: object, g: object, h: object, x0: np.ndarray) -> None:
        shape = x0.shape

        def f_grad(x: np.ndarray, return_gradient: bool = True) -> float | tuple[float, np.ndarray]:
            x = x.reshape(shape)
            return (f.value(x), f.grad(x).reshape(-1)) if return_gradient else f.value(x)

        maps = [lambda x, gamma, term=term: term.prox(x.reshape(shape), gamma).reshape(-1) for term in (g, h)]
        self.solve = lambda n: minimize_three_split(f_grad, x0.reshape(-1), *maps, tol=-1, max_iter=n).x.reshape(shape)

    def run(self, n_iter: int) -> None:
        self.x = self.solve(max(n_iter, 1))

    def get_result(self) -> dict[str, np.ndarray]:
        return {"x": self.x}
