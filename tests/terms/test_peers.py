"""Every operator of proxop, PyProximal and copt is one of ours, and agrees with it, or it is said why not."""

import inspect

import numpy as np
import proxop
import pyproximal
import pytest
from copt import constraint, penalty

from tests.terms.cases import Case, collected
from trisplit.terms import registry

CASES, ABSENT = collected("CASES", []), collected("ABSENT", [])


def operators(*modules, keep=lambda cls: True):
    found = {name for module in modules for name, cls in vars(module).items() if inspect.isclass(cls) and keep(cls)}
    return {name for name in found if not name.startswith("_")}


PEERS = {
    "proxop": operators(proxop),
    "pyproximal": operators(pyproximal, keep=lambda cls: issubclass(cls, pyproximal.ProxOperator)),
    "copt": operators(penalty, constraint, keep=lambda cls: cls.__module__.startswith("copt")),
}


@pytest.mark.parametrize("peer", PEERS)
def test_no_operator_is_forgotten(peer):
    covered = {case.operator for case in CASES if case.peer == peer}
    absent = {one.operator for one in ABSENT if one.peer == peer}
    assert covered | absent == PEERS[peer]
    assert not covered & absent
    assert all(len(one.why) > 20 for one in ABSENT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.peer}-{case.operator}")
def test_proximal_maps_agree(case: Case):
    assert type(case.term) in registry.values()
    rng = np.random.default_rng(0)
    for scale in (0.3, 1.0, 5.0):
        for gamma in (0.3, 1.0, 2.5):
            x = case.point(scale * rng.standard_normal(case.shape))
            ours = case.term.prox(x, gamma)
            theirs = np.reshape(case.prox(x.copy(), gamma), case.shape)
            miss = np.linalg.norm(ours - theirs)
            assert miss <= (1e-8 if case.exact else 1e-6) * (1 + np.linalg.norm(x)), (x, gamma, ours, theirs)
