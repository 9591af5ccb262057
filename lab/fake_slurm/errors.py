"""What a command of the stand-in says when it fails, in Slurm's words."""


class SlurmError(Exception):
    """Printed as `COMMAND: error: ...`; the command ends with status 1."""
