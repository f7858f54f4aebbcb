"""A matrix with few blocks that are not zero, from random linear measurements."""

from benchopt import BaseDataset

from trisplit.cli.bench import sibling


class Dataset(BaseDataset):
    """40 x 40 numbers, 800 measurements, by the L1 norm and the nuclear norm."""

    name = "sparse and low-rank"
    requirements = ["pip::trisplit"]

    def get_data(self) -> dict[str, object]:
        problem = sibling("problems").sparse_low_rank()
        return {"f": problem.f, "g": problem.g, "h": problem.h, "x0": problem.x0}
