"""A picture from its blurred and noisy version, by total variation and a box."""

from benchopt import BaseDataset

import trisplit as ts
from trisplit.cli.bench import sibling


class Dataset(BaseDataset):
    """Pictures with values between 0 and 1."""

    name = "deblurring in a box"
    parameters = {"size": [64, 128]}
    requirements = ["pip::trisplit"]

    def get_data(self) -> dict[str, object]:
        problem = sibling("problems").deblurring(self.size)
        return {"f": problem.f, "g": ts.terms.Box(0, 1), "h": ts.terms.ImageTotalVariation(0.002), "x0": problem.x0}
