"""trisplit: minimise f(x) + g(x) + h(x), f smooth and possibly nonconvex, with a certificate."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING

from trisplit import algorithms, certificates, gradients, qap, steps, terms, theory
from trisplit.algorithms.product import product
from trisplit.algorithms.state import State
from trisplit.algorithms.tos import Step, tos, tos_step
from trisplit.errors import GPUWarning, InputError
from trisplit.problem import Problem, Smooth, Term
from trisplit.result import BatchResult, Certificate, Guarantee, Result, Status, Trace
from trisplit.solve import minimize

if TYPE_CHECKING:
    from trisplit import losses, matching
    from trisplit import sklearn as sklearn  # not in `__all__`: a star would need scikit-learn
    from trisplit import torch as torch  # nor this: it would hide PyTorch

# Rooms that need more of SciPy or other libraries, imported when they are first named.
LATER = ("losses", "matching", "sklearn", "torch")


def __getattr__(name: str) -> ModuleType:
    if name in LATER:
        return import_module(f"trisplit.{name}")
    raise AttributeError(f"module 'trisplit' has no attribute {name!r}")


try:
    __version__ = version("trisplit")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "BatchResult",
    "Certificate",
    "GPUWarning",
    "Guarantee",
    "InputError",
    "Problem",
    "Result",
    "Smooth",
    "State",
    "Status",
    "Step",
    "Term",
    "Trace",
    "algorithms",
    "certificates",
    "gradients",
    "losses",
    "matching",
    "minimize",
    "product",
    "qap",
    "steps",
    "terms",
    "theory",
    "tos",
    "tos_step",
]
