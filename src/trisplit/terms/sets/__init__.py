"""Convex sets."""
