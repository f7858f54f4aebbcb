"""Matching of large sparse graphs, n from 2,000 to 100,000: nothing of n x n entries is held."""

from trisplit.matching.large.api import LargeMatch, match_large
from trisplit.matching.large.memory import Estimate, estimate

__all__ = ["Estimate", "LargeMatch", "estimate", "match_large"]
