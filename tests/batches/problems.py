"""Batches of quadratics for all kinds of arrays, whose members are problems of their own."""

from dataclasses import dataclass

import numpy as np

from tests import problems
from tests.kinds import numpy64
from trisplit.arrays import namespace
from trisplit.steps.records import Record


@dataclass(frozen=True, eq=False)
class Quadratics:
    """<x, Q x> / 2 + <c, x> over flattened x, one for each problem; without axes of a batch in Q, one problem."""

    Q: np.ndarray
    c: np.ndarray

    def value(self, x):
        return self.value_and_grad(x)[0]

    def grad(self, x):
        return self.value_and_grad(x)[1]

    def value_and_grad(self, x):
        xp = namespace(x)
        flat = xp.reshape(x, self.c.shape)
        image = (self.Q @ flat[..., None])[..., 0]
        return xp.sum(flat * (image / 2 + self.c), axis=-1), xp.reshape(image + self.c, x.shape)

    @property
    def lipschitz(self):
        return np.abs(np.linalg.eigvalsh(numpy64(self.Q))).max(axis=-1)

    def member(self, place):
        return Quadratics(self.Q[place], self.c[place])


@dataclass(frozen=True, eq=False)
class Selectable(Quadratics):
    """The same, able to hand out some of its problems."""

    def select(self, members):
        return type(self)(self.Q[members], self.c[members])


def batch_of(batch, shape, curvature="indefinite", seed=0, cls=Selectable, kind=None):
    """Return f and starting points for a batch of that shape, of problems of that shape and of different scales."""
    rng = np.random.default_rng(seed)
    count, size = int(np.prod(batch)), int(np.prod(shape))
    single = [problems.quadratic(rng, size, curvature) for _ in range(count)]
    scales = np.geomspace(0.1, 10.0, count)
    extra = 0.5 * np.eye(size) if curvature == "convex" else 0.0  # else rounding decides how fast the iterates creep
    make = np.asarray if kind is None else kind.array
    Q = make(np.reshape([scale * (f.Q + extra) for f, scale in zip(single, scales, strict=True)], (*batch, size, size)))
    c = make(np.reshape([f.c for f in single], (*batch, size)))
    return cls(Q, c), make(rng.standard_normal((*batch, *shape)))


def state_of(state, place):
    """Return the state of one problem of a batch in the midst of a run with the adaptive step."""
    place = place if isinstance(place, tuple) else (place,)
    z, d, record = state.memory
    row = record.rows[np.ravel_multi_index(place, state.y.shape[: len(place)])]
    numbers = Record({name: float(row[name]) for name in row.dtype.names})
    memory = state.memory._replace(z=z[place], d=d[place], record=numbers)
    return state._replace(y=state.y[place], gamma=state.gamma[place].item(), memory=memory)
