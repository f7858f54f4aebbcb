"""Nonsmooth terms: functions and sets with a cheap proximal map, and what certificates need to know of them.

A term has `value(x)` and `prox(x, gamma) = argmin_y gamma * term(y) + ||x - y||^2 / 2`: gamma multiplies the
function. Where it makes sense it also has

- `support(u)`: the largest <u, x> over its domain; `lmo(u)`: a minimiser of <u, x> over its domain;
- `diameter(shape)` of its domain and `lipschitz(shape)`, both for arrays of that shape; the latter holds on the whole
  space, or on the domain of a term that declares a finite diameter or is a set;
- `convex` and `indicator` (true for a set);
- `project(x)` and `distance(x)` for a set; `domain()` as a set; `conjugate()` as a term.

`hasattr` says whether a term has a capability; using one that it lacks raises an error that names both.

`registry` maps names to terms; `joint_oracles` maps pairs of terms to their linear oracle. A new term is a class
with `examples()` in a file of a folder here and its name in `__all__` of that file; a new file is named in `KINDS` and
imported below. The registry, the contract tests and the documentation find it there.
"""

import re
from importlib import import_module
from types import ModuleType

from trisplit.terms.barriers.activations import *  # noqa: F403
from trisplit.terms.barriers.entropies import *  # noqa: F403
from trisplit.terms.barriers.logarithms import *  # noqa: F403
from trisplit.terms.barriers.perspectives import *  # noqa: F403
from trisplit.terms.barriers.powers import *  # noqa: F403
from trisplit.terms.barriers.rectifiers import *  # noqa: F403
from trisplit.terms.barriers.sigmoids import *  # noqa: F403
from trisplit.terms.barriers.vectors import *  # noqa: F403
from trisplit.terms.base import BaseTerm, ConvexSet, MissingCapabilityError
from trisplit.terms.calculus.combinations import *  # noqa: F403
from trisplit.terms.calculus.compositions import *  # noqa: F403
from trisplit.terms.calculus.conjugates import *  # noqa: F403
from trisplit.terms.calculus.distances import *  # noqa: F403
from trisplit.terms.calculus.multiples import *  # noqa: F403
from trisplit.terms.calculus.perspectives import *  # noqa: F403
from trisplit.terms.calculus.rearrangements import *  # noqa: F403
from trisplit.terms.divergences.from_data import *  # noqa: F403
from trisplit.terms.divergences.pairs import *  # noqa: F403
from trisplit.terms.divergences.power_pairs import *  # noqa: F403
from trisplit.terms.joint import JointOracle, assignment, find_joint_oracle, joint_oracles
from trisplit.terms.matrix.balls import *  # noqa: F403
from trisplit.terms.matrix.log_det import *  # noqa: F403
from trisplit.terms.matrix.nuclear import *  # noqa: F403
from trisplit.terms.matrix.patterns import *  # noqa: F403
from trisplit.terms.matrix.ranks import *  # noqa: F403
from trisplit.terms.matrix.schatten import *  # noqa: F403
from trisplit.terms.matrix.semidefinite import *  # noqa: F403
from trisplit.terms.matrix.spectral import *  # noqa: F403
from trisplit.terms.matrix.spectral_functions import *  # noqa: F403
from trisplit.terms.matrix.von_neumann import *  # noqa: F403
from trisplit.terms.nonconvex.barriers import *  # noqa: F403
from trisplit.terms.nonconvex.counts import *  # noqa: F403
from trisplit.terms.nonconvex.logs import *  # noqa: F403
from trisplit.terms.nonconvex.pieces import *  # noqa: F403
from trisplit.terms.nonconvex.sets import *  # noqa: F403
from trisplit.terms.nonconvex.spheres import *  # noqa: F403
from trisplit.terms.nonconvex.vectors import *  # noqa: F403
from trisplit.terms.norms.deviations import *  # noqa: F403
from trisplit.terms.norms.l1 import *  # noqa: F403
from trisplit.terms.norms.margins import *  # noqa: F403
from trisplit.terms.norms.maxima import *  # noqa: F403
from trisplit.terms.norms.penalties import *  # noqa: F403
from trisplit.terms.norms.potentials import *  # noqa: F403
from trisplit.terms.norms.powers import *  # noqa: F403
from trisplit.terms.norms.sorted import *  # noqa: F403
from trisplit.terms.norms.vectors import *  # noqa: F403
from trisplit.terms.sets.affine import *  # noqa: F403
from trisplit.terms.sets.balls import *  # noqa: F403
from trisplit.terms.sets.box import *  # noqa: F403
from trisplit.terms.sets.cones import *  # noqa: F403
from trisplit.terms.sets.curved_epigraphs import *  # noqa: F403
from trisplit.terms.sets.epigraph_distance import *  # noqa: F403
from trisplit.terms.sets.epigraphs import *  # noqa: F403
from trisplit.terms.sets.exponential_cone import *  # noqa: F403
from trisplit.terms.sets.flat import *  # noqa: F403
from trisplit.terms.sets.l1_balls import *  # noqa: F403
from trisplit.terms.sets.level_sets import *  # noqa: F403
from trisplit.terms.sets.polyhedra import *  # noqa: F403
from trisplit.terms.sets.simplex import *  # noqa: F403
from trisplit.terms.sets.simplices import *  # noqa: F403
from trisplit.terms.sets.sums import *  # noqa: F403
from trisplit.terms.sets.transport import *  # noqa: F403
from trisplit.terms.structured.graphs import *  # noqa: F403
from trisplit.terms.structured.group_norms import *  # noqa: F403
from trisplit.terms.structured.groups import *  # noqa: F403
from trisplit.terms.structured.images import *  # noqa: F403
from trisplit.terms.structured.order import *  # noqa: F403
from trisplit.terms.structured.total_variation import *  # noqa: F403
from trisplit.terms.structured.trends import *  # noqa: F403

# The files by kind, in the order of the documentation.
KINDS = {
    "norms": "l1 penalties potentials powers margins deviations vectors maxima sorted",
    "structured": "groups group_norms order total_variation trends images graphs",
    "matrix": ("nuclear spectral schatten ranks spectral_functions log_det von_neumann semidefinite patterns balls"),
    "barriers": "logarithms powers vectors entropies activations sigmoids rectifiers perspectives",
    "divergences": "from_data pairs power_pairs",
    "nonconvex": "counts pieces logs barriers vectors spheres sets",
    "sets": (
        "box balls l1_balls simplex simplices affine flat polyhedra sums transport cones "
        "exponential_cone epigraphs curved_epigraphs epigraph_distance level_sets"
    ),
    "calculus": "conjugates multiples distances combinations compositions rearrangements perspectives",
}
FILES: tuple[ModuleType, ...] = tuple(
    import_module(f"trisplit.terms.{kind}.{file}") for kind, files in KINDS.items() for file in files.split()
)


def _name(cls: type) -> str:
    """Return the name of a term in the registry: `L2Ball` is l2_ball."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__)
    return getattr(cls, "name", words.lower())


registry: dict[str, type[BaseTerm]] = {
    _name(term): term for file in FILES for term in (getattr(file, each) for each in file.__all__)
}

__all__ = [
    "BaseTerm",
    "ConvexSet",
    "JointOracle",
    "MissingCapabilityError",
    "assignment",
    "find_joint_oracle",
    "joint_oracles",
    "registry",
    *(each for file in FILES for each in file.__all__),  # pyright: ignore[reportUnsupportedDunderAll]
]
