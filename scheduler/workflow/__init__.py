"""Workflows: what a step does next, and how it gets its runs."""
