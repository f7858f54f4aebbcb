"""Graph matching: which vertex of one graph is which vertex of another."""
