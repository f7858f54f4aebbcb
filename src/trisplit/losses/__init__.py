"""Smooth losses: f of min f(x) + g(x) + h(x), convex and nonconvex.

A loss has `value(x)`, `grad(x)` and `value_and_grad(x)`, and says whether it is `convex` and what its smoothness
constant `lipschitz` is. A mean over samples also has `n`, `batch_grad(x, rows)`, `sample_grads(x, rows)` and
`sample_lipschitz`, which stochastic gradients need. Data of NumPy's follow x into its library, dtype and device.

`registry` maps names to losses. A new loss is a class with `examples()` in a file here and its name in `__all__` of
that file; a new file is named in `FILES` and imported below. The registry, the contract tests and the documentation
find it there. `from_torch` and `from_jax` make losses of functions.
"""

import re
from types import ModuleType

from trisplit.losses import (
    classification,
    factors,
    margins,
    mixtures,
    networks,
    phases,
    quadratics,
    regression,
    robust,
    survival,
)
from trisplit.losses.automatic import from_jax, from_torch
from trisplit.losses.base import FiniteSum, Loss
from trisplit.losses.classification import *  # noqa: F403
from trisplit.losses.factors import *  # noqa: F403
from trisplit.losses.linear import LinearModel
from trisplit.losses.margins import *  # noqa: F403
from trisplit.losses.mixtures import *  # noqa: F403
from trisplit.losses.networks import *  # noqa: F403
from trisplit.losses.parameters import Parameters
from trisplit.losses.phases import *  # noqa: F403
from trisplit.losses.quadratics import *  # noqa: F403
from trisplit.losses.regression import *  # noqa: F403
from trisplit.losses.robust import *  # noqa: F403
from trisplit.losses.samples import Samples
from trisplit.losses.streams import Streamed, Svmlight
from trisplit.losses.survival import *  # noqa: F403

# In the order of the documentation.
FILES: tuple[ModuleType, ...] = (
    regression,
    classification,
    survival,
    quadratics,
    robust,
    margins,
    phases,
    factors,
    mixtures,
    networks,
)


def _name(cls: type) -> str:
    """Return the name of a loss in the registry: `LeastSquares` is least_squares."""
    return getattr(cls, "name", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower())


registry: dict[str, type[Loss]] = {
    _name(loss): loss for loss in (getattr(file, each) for file in FILES for each in file.__all__)
}

__all__ = [
    "FiniteSum",
    "LinearModel",
    "Loss",
    "Parameters",
    "Samples",
    "Streamed",
    "Svmlight",
    "from_jax",
    "from_torch",
    "registry",
    *(each for file in FILES for each in file.__all__),  # pyright: ignore[reportUnsupportedDunderAll]
]
