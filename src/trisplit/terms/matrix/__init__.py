"""Functions and sets of matrices."""
