"""Nonsmooth terms: functions and sets with a cheap proximal map, and what certificates need to know of them.

A term has `value(x)` and `prox(x, gamma) = argmin_y gamma * term(y) + ||x - y||^2 / 2`: gamma multiplies the
function. Where it makes sense it also has

- `support(u)`: the largest <u, x> over its domain; `lmo(u)`: a minimiser of <u, x> over its domain;
- `diameter(shape)` of its domain and `lipschitz(shape)`, both for arrays of that shape; the latter holds on the whole
  space, or on the domain of a term that declares a finite diameter or is a set;
- `convex` and `indicator` (true for a set);
- `project(x)` and `distance(x)` for a set; `conjugate()` where the conjugate is a term too.

`registry` maps names to terms; `joint_oracles` maps pairs of terms to their linear oracle. A new term is a class
with `examples()` in a file here and a line in `registry`: the contract tests and the documentation find it there.
"""

from trisplit.terms.affine import Affine
from trisplit.terms.balls import L2Ball
from trisplit.terms.base import ConvexSet
from trisplit.terms.box import Box, NonNegative
from trisplit.terms.groups import GroupL2
from trisplit.terms.joint import JointOracle, assignment, find_joint_oracle, joint_oracles
from trisplit.terms.norms import L1, SquaredL2, Zero
from trisplit.terms.nuclear import NuclearNorm
from trisplit.terms.simplex import Simplex
from trisplit.terms.sums import UnitSums
from trisplit.terms.total_variation import TotalVariation

registry: dict[str, type] = {
    "affine": Affine,
    "box": Box,
    "group_l2": GroupL2,
    "l1": L1,
    "l2_ball": L2Ball,
    "nonnegative": NonNegative,
    "nuclear_norm": NuclearNorm,
    "simplex": Simplex,
    "squared_l2": SquaredL2,
    "total_variation": TotalVariation,
    "unit_sums": UnitSums,
    "zero": Zero,
}

__all__ = [
    "L1",
    "Affine",
    "Box",
    "ConvexSet",
    "GroupL2",
    "JointOracle",
    "L2Ball",
    "NonNegative",
    "NuclearNorm",
    "Simplex",
    "SquaredL2",
    "TotalVariation",
    "UnitSums",
    "Zero",
    "assignment",
    "find_joint_oracle",
    "joint_oracles",
    "registry",
]
