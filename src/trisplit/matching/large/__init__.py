"""Matching of large sparse graphs."""
