"""Warning of a time limit that leaves an attempt hardly any time to train."""

from contract.folder.job_identity import time_limit_warning_s
from contract.spec.resources import Local, Slurm
from contract.validation import ValidationIssue

STARTUP_S = 60  # that a program often takes to load its libraries and data, and until its ranks have met


def warn_of_short_limit(resources: Local | Slurm) -> ValidationIssue | None:
    """Return that start-up may take the whole limit; None where the limit is longer."""
    if not isinstance(resources, Slurm):
        return None
    limit_s, saving_s = 60 * resources.minutes, time_limit_warning_s(resources.minutes)
    if limit_s - saving_s >= STARTUP_S:
        return None
    leaves = f"a limit of {limit_s} s less {saving_s} s to save leaves {limit_s - saving_s} s"
    message = f"{leaves}, and start-up alone may take {STARTUP_S} s: attempts may take few steps, or none"
    return ValidationIssue(path="resources.minutes", message=message)
