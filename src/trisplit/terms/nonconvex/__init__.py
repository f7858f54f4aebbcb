"""Penalties and sets that are not convex."""
