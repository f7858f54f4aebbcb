"""Divergences."""
