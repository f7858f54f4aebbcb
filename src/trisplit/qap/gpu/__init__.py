"""Quadratic assignment on a GPU: thousands of starts, and of tabu searches, at once. Needs PyTorch."""
