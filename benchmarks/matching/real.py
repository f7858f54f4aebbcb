"""Graphs that networkx ships: four social networks, and the larger networks with which it tests its maximum flows.

Those are what generators of flow problems made (netgen, Goldberg's, Washington's); networkx has no larger ones. Edges
of Les Miserables have weights; arcs of flow networks are directed and have none here.
"""

import bz2
import pickle
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

SOCIAL = {"florentine": 15, "davis": 32, "karate": 34, "lesmis": 77}
FLOWS = {"netgen-2": 400, "gw1": 1024, "wlm3": 1026, "gl1": 1116}


def sizes() -> dict[str, int]:
    """Return the names of the graphs and their numbers of vertices; those of the flows if their files are there."""
    if find_spec("networkx") is None:
        return {}
    return SOCIAL | {name: n for name, n in FLOWS.items() if flow_file(name).exists()}


def flow_file(name: str) -> Path:
    """Return where networkx keeps a network."""
    spec = find_spec("networkx")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "algorithms" / "flow" / "tests" / f"{name}.gpickle.bz2"


@cache
def adjacency(name: str) -> np.ndarray:
    """Return the adjacency matrix of a graph."""
    import networkx as nx

    makers = {
        "florentine": nx.florentine_families_graph,
        "davis": nx.davis_southern_women_graph,
        "karate": nx.karate_club_graph,
        "lesmis": nx.les_miserables_graph,
    }
    if name in makers:
        return nx.to_numpy_array(makers[name](), weight="weight" if name == "lesmis" else None)  # pyright: ignore
    with bz2.open(flow_file(name)) as file:
        return nx.to_numpy_array(pickle.load(file), weight=None)  # pyright: ignore  (the installed package is trusted)
