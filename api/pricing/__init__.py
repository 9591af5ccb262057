"""Endpoints that predict what a run costs, besides its collective."""
