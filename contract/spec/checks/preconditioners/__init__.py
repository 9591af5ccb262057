"""Checks of preconditioners."""
