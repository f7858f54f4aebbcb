"""f + g + h with f smooth and two terms with proximal maps: the value, and how far a point is from either set."""

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """The objective of all data sets: they bring f, g and h themselves."""

    name = "Three operator splitting"
    requirements = ["pip::trisplit"]
    min_benchopt_version = "1.7"
    sampling_strategy = "iteration"

    def set_data(self, f: object, g: object, h: object, x0: np.ndarray) -> None:
        self.f, self.g, self.h, self.x0 = f, g, h, x0

    def evaluate_result(self, x: np.ndarray) -> dict[str, float]:
        """Return phi, sets counted as 0, and the distance from the sets among g and h."""
        value, distance = float(self.f.value(x)), 0.0
        for term in (self.g, self.h):
            if getattr(term, "indicator", False):
                distance = max(distance, float(np.linalg.norm(x - term.prox(x, 1.0))))
            else:
                value += float(term.value(x))
        return {"value": value, "infeasibility": distance}

    def get_objective(self) -> dict[str, object]:
        return {"f": self.f, "g": self.g, "h": self.h, "x0": self.x0}

    def get_one_result(self) -> dict[str, np.ndarray]:
        return {"x": self.x0}
