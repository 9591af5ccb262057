"""The one error of the lab: something that was tried did not work, in words for the person at the terminal."""


class LabError(RuntimeError):
    """Say what failed and where to look."""
