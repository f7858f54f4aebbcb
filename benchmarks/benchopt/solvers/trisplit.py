"""trisplit: `minimize` with its step that adapts, and with a constant one."""

import numpy as np
from benchopt import BaseSolver

import trisplit as ts


class Solver(BaseSolver):
    """Three operator splitting; a constant step is 1.9 / L."""

    name = "trisplit"
    parameters = {"step": ["auto", "constant"]}
    requirements = ["pip::trisplit"]

    def skip(self, f: object, g: object, h: object, x0: np.ndarray) -> tuple[bool, str | None]:
        if self.step == "constant" and getattr(f, "lipschitz", None) is None:
            return True, "f does not know its smoothness constant"
        return False, None

    def set_objective(self, f: object, g: object, h: object, x0: np.ndarray) -> None:
        self.f, self.terms, self.x0 = f, [g, h], x0
        self.gamma = "auto" if self.step == "auto" else 1.9 / f.lipschitz

    def warm_up(self) -> None:
        self.run(2)

    def run(self, n_iter: int) -> None:
        self.x = ts.minimize(self.f, self.x0, self.terms, step=self.gamma, tol=0, max_iter=max(n_iter, 1)).x

    def get_result(self) -> dict[str, np.ndarray]:
        return {"x": self.x}
