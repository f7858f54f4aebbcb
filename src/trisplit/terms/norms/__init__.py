"""Norms, penalties and losses."""
