"""The error of a command, in Slurm's own words."""


class SlurmError(Exception):
    """Print `COMMAND: error: MESSAGE` and end the command with status 1."""
