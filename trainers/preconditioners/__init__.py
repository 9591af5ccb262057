"""Preconditioners, which change the gradients between the backward pass and the optimizer. Plain arguments only."""
