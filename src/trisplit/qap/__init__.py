"""Quadratic assignment: bundled QAPLIB instances, the certified relaxation, relax-and-round, and lower bounds."""

from trisplit.qap.bounds import LowerBound, lower_bound
from trisplit.qap.constraints import Way, constrained
from trisplit.qap.fixed import Expansion, reduced
from trisplit.qap.incumbent import QAPResult, QAPStatus, QAPTraceRow
from trisplit.qap.instance import Instance
from trisplit.qap.memetic import DEEP_WALKS, KICKS, LONG_WALKS, MemeticSearch
from trisplit.qap.objective import Objective, Tangent
from trisplit.qap.qaplib import load, names, read, table
from trisplit.qap.relaxation import initial_point, relax
from trisplit.qap.rounding import round_to_permutation, swap_descent
from trisplit.qap.scipy_compat import quadratic_assignment
from trisplit.qap.solver import solve

__all__ = [
    "DEEP_WALKS",
    "KICKS",
    "LONG_WALKS",
    "Expansion",
    "Instance",
    "LowerBound",
    "MemeticSearch",
    "Objective",
    "QAPResult",
    "QAPStatus",
    "QAPTraceRow",
    "Tangent",
    "Way",
    "constrained",
    "initial_point",
    "load",
    "lower_bound",
    "names",
    "quadratic_assignment",
    "read",
    "reduced",
    "relax",
    "round_to_permutation",
    "solve",
    "swap_descent",
    "table",
]
