"""The benchmark for benchopt: its files do what benchopt asks of them, for every data set and every solver."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.docs.test_examples import load

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "benchopt"
DATASETS, SOLVERS = (sorted((FOLDER / kind).glob("*.py")) for kind in ("datasets", "solvers"))
SMALL = {"size": 16, "instance": "nug12", "weight": 1e-2}


@pytest.fixture(autouse=True)
def _benchopt(monkeypatch):
    """Stand in for benchopt, whose base classes hold parameters as attributes."""
    stand_in = ModuleType("benchopt")
    for name in ("BaseObjective", "BaseDataset", "BaseSolver"):
        setattr(stand_in, name, type(name, (), {}))
    monkeypatch.setitem(sys.modules, "benchopt", stand_in)


@pytest.mark.parametrize("data", DATASETS, ids=lambda path: path.stem)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda path: path.stem)
def test_every_solver_makes_progress(data, solver):
    dataset, objective, method = (load(path) for path in (data, FOLDER / "objective.py", solver))
    dataset, objective, method = dataset.Dataset(), objective.Objective(), method.Solver()
    for name in getattr(dataset, "parameters", {}):
        setattr(dataset, name, SMALL[name])
    objective.set_data(**dataset.get_data())
    begin = objective.evaluate_result(**objective.get_one_result())
    for step in getattr(method, "parameters", {"step": [1.0]})["step"]:
        method.step = step
        given = objective.get_objective()
        assert not (hasattr(method, "skip") and method.skip(**given)[0])
        method.set_objective(**given)
        method.run(10)
        found = objective.evaluate_result(**method.get_result())
        assert np.isfinite(found["value"])
        assert found["value"] < begin["value"] or found["infeasibility"] < begin["infeasibility"]
