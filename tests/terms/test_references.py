"""Proximal maps against slow references: a grid for each entry, or what `tests/terms/cases` solves for the rest."""

import numpy as np
import pytest

from tests.terms.cases import collected
from trisplit.terms import registry
from trisplit.terms.blocks import Entries

REFERENCES = collected("REFERENCES", {})
BY_ENTRY = [name for name, cls in registry.items() if issubclass(cls, Entries)]


def test_every_term_has_a_reference():
    assert set(registry) - set(BY_ENTRY) == set(REFERENCES) - set(BY_ENTRY)


@pytest.mark.parametrize("name", REFERENCES)
def test_prox_is_that_of_the_reference(name):
    rng = np.random.default_rng(1)
    for term, shape in registry[name].examples():
        for gamma in (0.4, 2.0):
            x = 2 * rng.standard_normal(shape)
            p, q = term.prox(x, gamma), REFERENCES[name](term, x, gamma)
            if term.convex:
                assert np.linalg.norm(p - q) <= 2e-5 * (1 + np.linalg.norm(x)), (x, gamma, p, q)
            else:  # one of several minimisers
                ours, theirs = (gamma * term.value(c) + np.sum((c - x) ** 2) / 2 for c in (p, q))
                assert ours <= theirs + 1e-9 * (1 + np.sum(x**2))


@pytest.mark.parametrize("name", BY_ENTRY)
def test_no_number_of_a_grid_is_better(name):
    """An entry of the proximal point minimises over the line, of which a grid holds 4,001 points."""
    rng = np.random.default_rng(2)
    for term, shape in registry[name].examples():
        for gamma in (0.4, 2.0):
            x = 2 * rng.standard_normal(shape)
            p = term.prox(x, gamma)
            best = gamma * term.value(p) + np.sum((p - x) ** 2) / 2
            place = tuple(rng.integers(size) for size in shape)
            for entry in np.concatenate([np.linspace(-8, 8, 4001), p[place] + np.linspace(-1e-3, 1e-3, 41)]):
                other = p.copy()
                other[place] = entry
                assert gamma * term.value(other) + np.sum((other - x) ** 2) / 2 >= best - 1e-9 * (1 + abs(best))
