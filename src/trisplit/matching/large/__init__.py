"""Matching of large sparse graphs, n from 2,000 to 100,000: nothing of n x n entries is held."""

from trisplit.matching.large.api import LargeMatch, match_large
from trisplit.matching.large.memory import Estimate, available_bytes, estimate

__all__ = ["Estimate", "LargeMatch", "available_bytes", "estimate", "match_large"]
