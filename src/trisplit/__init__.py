"""trisplit: minimise f(x) + g(x) + h(x), f smooth and possibly nonconvex, with a certificate."""

from importlib.metadata import PackageNotFoundError, version

from trisplit import algorithms, certificates, qap, steps, terms, theory
from trisplit.algorithms.product import product
from trisplit.algorithms.state import State
from trisplit.algorithms.tos import Step, tos, tos_step
from trisplit.errors import InputError
from trisplit.problem import Problem, Smooth, Term
from trisplit.result import BatchResult, Certificate, Guarantee, Result, Status, Trace
from trisplit.solve import minimize

try:
    __version__ = version("trisplit")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "BatchResult",
    "Certificate",
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
    "minimize",
    "product",
    "qap",
    "steps",
    "terms",
    "theory",
    "tos",
    "tos_step",
]
