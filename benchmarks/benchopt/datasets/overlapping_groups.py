"""Logistic regression with groups of ten features that share two with the next group."""

from benchopt import BaseDataset

from trisplit.cli.bench import sibling


class Dataset(BaseDataset):
    """100 samples, 1002 features, after copt's gallery."""

    name = "overlapping groups"
    parameters = {"weight": [1e-2, 1e-3]}
    requirements = ["pip::trisplit"]

    def get_data(self) -> dict[str, object]:
        problem = sibling("problems").group_lasso(self.weight)
        return {"f": problem.f, "g": problem.g, "h": problem.h, "x0": problem.x0}
