"""Quadratic assignment on a device with torch: import the modules where they are used, torch is optional."""
