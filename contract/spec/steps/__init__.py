"""Workflows: steps, the references between them, and their checks."""
