"""Searches by Optuna's samplers, which are asked and told; the history comes from the caller, never from Optuna."""
