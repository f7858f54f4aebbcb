"""The one driver: when to check, when to stop and why, what to remember, checkpoints."""
