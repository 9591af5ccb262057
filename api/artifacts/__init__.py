"""Artifacts of runs over HTTP."""
