"""Graph matching: which vertex of one graph is which vertex of another, and how sure that is."""

from trisplit.matching.api import graph_match
from trisplit.matching.diagnostics import alignment_strength, chance, edge_agreement
from trisplit.matching.files import read_graph, read_seeds
from trisplit.matching.graphs import Graph
from trisplit.matching.matcher import GraphMatcher
from trisplit.matching.plot import plot_match
from trisplit.matching.result import MatchResult

__all__ = [
    "Graph",
    "GraphMatcher",
    "MatchResult",
    "alignment_strength",
    "chance",
    "edge_agreement",
    "graph_match",
    "plot_match",
    "read_graph",
    "read_seeds",
]
