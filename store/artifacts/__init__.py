"""Artifacts of runs in the database."""
