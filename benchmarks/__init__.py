"""Measurements against peers and bounds: each a script that prints a table."""
