"""The error of the lab."""


class LabError(RuntimeError):
    """Report which operation of the lab failed and where the logs are."""
