"""The quadratic assignment problem over doubly stochastic matrices, which is not convex."""

import numpy as np
from benchopt import BaseDataset

import trisplit as ts


class Dataset(BaseDataset):
    """Instances of QAPLIB; the value is divided by the best-known cost."""

    name = "qap relaxation"
    parameters = {"instance": ["nug12", "tai30a", "sko42"]}
    requirements = ["pip::trisplit"]

    def get_data(self) -> dict[str, object]:
        instance = ts.qap.load(self.instance)
        A, B = (M.astype(float) for M in (instance.A, instance.B))
        A /= instance.best_known
        x0 = np.full(A.shape, 1 / len(A)) + 1e-3 * np.random.default_rng(0).standard_normal(A.shape)
        return {"f": ts.losses.QAP(A, B), "g": ts.terms.Simplex(axis=1), "h": ts.terms.Simplex(axis=0), "x0": x0}
