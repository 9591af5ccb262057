"""Checks of how a run gets its input."""
