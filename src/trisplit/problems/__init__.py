"""What is to be minimised, as an iteration needs it: f + g + h, or copies of x for more terms; and certificates."""
