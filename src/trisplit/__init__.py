"""trisplit: minimise f(x) + g(x) + h(x), f smooth and possibly nonconvex, with a certificate."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING
from warnings import warn

from trisplit import gradients, qap, steps, terms, theory
from trisplit.diagnosis import Check, check
from trisplit.errors import GPUWarning, InputError
from trisplit.path import Path, path
from trisplit.problems import certificates
from trisplit.problems.oracles import Smooth, Term
from trisplit.problems.problem import Problem
from trisplit.problems.product import Product
from trisplit.result import BatchResult, Certificate, Guarantee, Result, Status, Trace
from trisplit.solve import minimize
from trisplit.splitting.tos import Iterate, State, Step, tos, tos_step

if TYPE_CHECKING:
    from trisplit import losses, matching
    from trisplit import sklearn as sklearn  # not in `__all__`: a star would need scikit-learn
    from trisplit import torch as torch  # nor this: it would hide PyTorch

# Rooms that need more of SciPy or other libraries, imported when they are first named.
LATER = ("losses", "matching", "sklearn", "torch")


def __getattr__(name: str) -> object:
    if name in LATER:
        return import_module(f"trisplit.{name}")
    if name == "algorithms":
        warn("`trisplit.algorithms` is now `trisplit.splitting`", DeprecationWarning, stacklevel=2)
        return import_module("trisplit.splitting")
    if name == "product":
        warn("`ts.product` is now `ts.tos`, for any number of terms", DeprecationWarning, stacklevel=2)
        return lambda problem, y0, *rest, **options: tos(Product(problem), y0, *rest, **options)
    raise AttributeError(f"module 'trisplit' has no attribute {name!r}")


try:
    __version__ = version("trisplit")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "BatchResult",
    "Certificate",
    "Check",
    "GPUWarning",
    "Guarantee",
    "InputError",
    "Iterate",
    "Path",
    "Problem",
    "Product",
    "Result",
    "Smooth",
    "State",
    "Status",
    "Step",
    "Term",
    "Trace",
    "certificates",
    "check",
    "gradients",
    "losses",
    "matching",
    "minimize",
    "path",
    "qap",
    "steps",
    "terms",
    "theory",
    "tos",
    "tos_step",
]
