"""The identity of a job (its name, host and first process) and the values by which a job pauses."""

from runfiles import exit_status, job_name

JOB_NAME_VARIABLE, JOB_START_VARIABLE = job_name.NAME_VARIABLE, job_name.START_VARIABLE
CLAIM_REFUSED_EXIT_CODE, PAUSED_EXIT_CODE = exit_status.REFUSED, exit_status.PAUSED
host, local_job_id, is_another_start = job_name.host, job_name.local_job, job_name.is_another_start
STOPPED_EXIT_CODES = (143, 130)  # of an agent whose ranks ended after SIGTERM or SIGINT, as of a shell
LEFT_EXIT_CODES = (PAUSED_EXIT_CODE, *STOPPED_EXIT_CODES)  # of an attempt that was asked to end, and left in good order
MAX_WARNING_S = 90  # longest time between SIGUSR2, Slurm's warning, and the time limit


def is_manual_job(job_id: str) -> bool:
    """Return whether a person started the job on this or another machine, without the scheduler."""
    return job_id.startswith(f"{job_name.BY_HAND}@")


def time_limit_warning_s(minutes: int) -> int:
    """Return how many seconds before a limit of `minutes` Slurm sends the warning: at most a quarter of the limit."""
    return min(MAX_WARNING_S, minutes * 60 // 4)
