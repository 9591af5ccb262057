"""Diverged: the error of a run whose numbers are no longer finite."""


class Diverged(ArithmeticError):
    """A loss, gradients, weights or outputs are no longer finite; the message says which, and at which step."""
