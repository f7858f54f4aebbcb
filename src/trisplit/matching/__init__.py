"""Graph matching."""
