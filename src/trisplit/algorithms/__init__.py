"""Iterations that never stop by themselves: each is a generator of states and reads like its paper."""
