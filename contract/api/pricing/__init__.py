"""Predicted costs of runs, as the API returns them."""
