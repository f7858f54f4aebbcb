"""Barriers, entropies, activation functions and perspectives."""
