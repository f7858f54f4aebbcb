"""What u_t is: the gradient of f at z_t, or an estimate of it from some samples.

An estimator is a frozen object; what it remembers is handed through the iteration. `estimators` maps the names that
`gradient=` takes to them. A new estimator is a class in a file here and a line in `estimators`.
"""

from trisplit.errors import InputError
from trisplit.gradients.base import Estimated, Estimator
from trisplit.gradients.constants import batch_smoothness
from trisplit.gradients.curved import SVRG2
from trisplit.gradients.plain import Exact, Minibatch, Stream
from trisplit.gradients.recursive import PAGE, SARAH, STORM
from trisplit.gradients.snapshots import SAGA, SVRG

estimators: dict[str, type[Estimator]] = {
    "exact": Exact,
    "minibatch": Minibatch,
    "stream": Stream,
    "svrg": SVRG,
    "svrg2": SVRG2,
    "saga": SAGA,
    "sarah": SARAH,
    "page": PAGE,
    "storm": STORM,
}


def as_gradient(gradient: "Estimator | str") -> Estimator:
    """Return the estimator that `gradient` stands for: a name, or an estimator itself.

    Examples
    --------
    >>> as_gradient("saga")
    SAGA(size=None)
    """
    if isinstance(gradient, str) and gradient in estimators:
        return estimators[gradient]()
    if isinstance(gradient, Estimator) and not isinstance(gradient, type):
        return gradient
    raise InputError(f"`gradient` must be an estimator or one of {', '.join(estimators)}; got {gradient!r}")


__all__ = [
    "PAGE",
    "SAGA",
    "SARAH",
    "STORM",
    "SVRG",
    "SVRG2",
    "Estimated",
    "Estimator",
    "Exact",
    "Minibatch",
    "Stream",
    "as_gradient",
    "batch_smoothness",
    "estimators",
]
