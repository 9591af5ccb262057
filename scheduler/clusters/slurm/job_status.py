"""Job status from Slurm: squeue lists all jobs in one call, sacct those that squeue no longer lists.

Either command alone suffices: a cluster may have no accounting, and accounting works while the controller is down.
Ids and names together identify a job, because slurmctld may reuse ids after a crash. A missing line is no status.
"""

from collections.abc import Collection, Mapping, Sequence

from contract.lifecycle.job_end import EndKind
from scheduler.clusters.cluster import Alive, Gone, JobHandle, JobStatus, NoAnswerError, RateLimitedError, Unknown, gone
from scheduler.clusters.rate_limit import Priority
from scheduler.clusters.slurm.commands import ALL_PARTITIONS, Commands, parse_rows
from scheduler.clusters.slurm.job_ids import array_id, parse_tasks
from scheduler.clusters.slurm.job_states import translate_state

UNLISTED = gone(EndKind.UNLISTED, is_certain=False)
# the state that accounting gives jobs that a controller lost in a crash; squeue lists first what root cancelled
CANCELLED_BY_ROOT = "CANCELLED by 0"
# a task that is cancelled while it is pending leaves no trace; a controller that has the array has lost nothing
TAKEN_OUT = gone(EndKind.CANCELLED, is_certain=False)
ACCOUNTING_ONLY = gone(EndKind.ACCOUNTING_ONLY, is_certain=False)
NO_JOBS = "No jobs in the system"  # scontrol's whole answer if there are none
NO_SUCH_JOB = "Invalid job id"  # of scontrol's error message for a job that the controller does not have
MAX_IDS = 1000  # in one command line
NOT_IN_SQUEUE = Unknown("squeue does not list the job, but the controller may still have the job")


def read_job_status(
    jobs: Sequence[JobHandle], commands: Commands, priority: Priority = Priority.POLL
) -> dict[JobHandle, JobStatus]:
    """Return the status of every job; raise RateLimitedError if squeue may not be called now."""
    try:
        listed = _read_queue(commands, priority)
    except RateLimitedError:
        raise
    except NoAnswerError as error:
        return _read_accounting_only(jobs, commands, error)
    found = {job: status for job in jobs if (status := _status_in(listed, job))}
    missing = [job for job in jobs if job not in found]
    if not missing:
        return found
    # the controller must have these too; an ended job may disappear between the calls
    not_ended = [job for job, status in listed.items() if not isinstance(status, Gone)]
    return found | _read_unlisted(missing, not_ended, commands)


def _status_in(listed: Mapping[tuple[str, str], JobStatus], job: JobHandle) -> JobStatus | None:
    """Return the status of a job, or of the whole array that the job is a task of.

    When the pending tasks of an array are cancelled by their numbers, Slurm lists one line without numbers. An answer
    may lack a task's own line, so an end by the array's line is not certain.
    """
    if own := listed.get((job.id, job.name)):
        return own
    whole = listed.get((array_id(job.id), job.name))
    return whole._replace(is_certain=False) if isinstance(whole, Gone) else None


def _read_queue(commands: Commands, priority: Priority) -> dict[tuple[str, str], JobStatus]:
    """Return all of this user's jobs by id and name, each array task by itself."""
    # a name may contain bars, so the name is the last column
    options = ("--me", *ALL_PARTITIONS, "-h", "-r", "-t", "all", "-o", "%i|%T|%r|%N|%S|%e|%j")
    rows = parse_rows(commands.ask("squeue", *options, priority=priority), 7)
    return {
        (job_id, name): translate_state(state, reason, hosts, start, end)
        or Unknown(f"Slurm lists the job in a state that the service does not know ({state})")
        for job_id, state, reason, hosts, start, end, name in rows
    }


def _read_accounting(jobs: Sequence[JobHandle], commands: Commands) -> dict[JobHandle, JobStatus]:
    """Return the status of the jobs that the accounting database has; raise NoAnswerError if sacct fails."""
    ids = sorted({array_id(job.id) for job in jobs})[:MAX_IDS]
    options = ("-X", "-n", "-P", "-j", ",".join(ids), "-o", "JobID,State,ExitCode,NodeList,Start,End,JobName")
    listed = {
        (job_id, name): status
        for job_id, state, codes, hosts, start, end, name in parse_rows(commands.ask("sacct", *options), 7)
        if (status := _accounted_status(state, codes, hosts, start, end))
    }
    return {job: status for job in jobs if (status := _status_in(listed, job))}


def _accounted_status(state: str, codes: str, hosts: str, start: str, end: str) -> JobStatus | None:
    return ACCOUNTING_ONLY if state == CANCELLED_BY_ROOT else translate_state(state, codes, hosts, start, end)


def _read_accounting_only(
    jobs: Sequence[JobHandle], commands: Commands, squeue_error: NoAnswerError
) -> dict[JobHandle, JobStatus]:
    """Return what accounting has while squeue fails; jobs that accounting lacks, or has lost, are unknown."""
    try:
        accounted = _read_accounting(jobs, commands)
    except NoAnswerError as error:
        return {job: Unknown(f"{squeue_error}; {error}") for job in jobs}
    status = {job: status for job, status in accounted.items() if not _is_accounting_only(status)}
    return {job: status.get(job, Unknown(str(squeue_error))) for job in jobs}


def _is_accounting_only(status: JobStatus) -> bool:
    return isinstance(status, Gone) and status.end.kind is EndKind.ACCOUNTING_ONLY


def _read_unlisted(
    jobs: Sequence[JobHandle], listed: Collection[tuple[str, str]], commands: Commands
) -> dict[JobHandle, JobStatus]:
    """Return the status of jobs that squeue does not list: from accounting, else from the controller.

    `listed`: id and name of the jobs that squeue lists as alive.
    """
    try:
        accounted = _read_accounting(jobs, commands)
    except RateLimitedError as error:
        return {job: Unknown(str(error)) for job in jobs}
    except NoAnswerError:  # the cluster has no accounting, or slurmdbd is down
        accounted = {}
    ended: dict[JobHandle, JobStatus] = {
        job: status for job, status in accounted.items() if not isinstance(status, Alive)
    }
    rest = [job for job in jobs if job not in ended]
    if not rest:
        return ended
    # accounting lists jobs that a controller lost in a crash as running, for ever: that ends no doubt
    return ended | _read_controller(rest, listed, commands)


def _read_controller(
    jobs: Sequence[JobHandle], listed: Collection[tuple[str, str]], commands: Commands
) -> dict[JobHandle, JobStatus]:
    """Ask the controller for one job, or for the list of all jobs if there are several."""
    ids = {array_id(job.id) for job in jobs}
    only_id = ids.pop() if len(ids) == 1 else None
    try:
        answer = commands.ask("scontrol", *ALL_PARTITIONS, "-o", "show", "job", *([only_id] if only_id else []))
    except NoAnswerError as error:
        status = UNLISTED if NO_SUCH_JOB in str(error) else Unknown(str(error))
        return dict.fromkeys(jobs, status)
    shown = _parse_shown_jobs(answer)
    # an empty answer may be incomplete, and so is one that lacks jobs that squeue lists
    expected = {array_id(job_id) for job_id, _ in listed}
    if only_id:
        expected &= {only_id}
    is_complete = (bool(shown) or answer.strip() == NO_JOBS) and expected <= {job_id for job_id, _ in shown}
    found = dict[JobHandle, JobStatus](dict.fromkeys(jobs, NOT_IN_SQUEUE))
    for job in jobs if is_complete else ():
        if not _is_shown(job, shown):
            found[job] = TAKEN_OUT if (array_id(job.id), job.name) in shown else UNLISTED
    return found


def _parse_shown_jobs(answer: str) -> dict[tuple[str, str], set[int] | None]:
    """Return the jobs of `scontrol -o show job` by id and name, each with its tasks, or None for any task."""
    shown: dict[tuple[str, str], set[int] | None] = {}
    for line in answer.splitlines():
        pairs = [word.split("=", 1) for word in line.split() if "=" in word]
        fields = dict(reversed(pairs))  # of equal names the first counts: a comment may contain "JobId=1"
        if (name := fields.get("JobName")) is None or not (job_id := fields.get("ArrayJobId", fields.get("JobId"))):
            continue
        before, more = shown.get((job_id, name), set()), parse_tasks(fields.get("ArrayTaskId", ""))
        shown[job_id, name] = before | more if before is not None and more else None
    return shown


def _is_shown(job: JobHandle, shown: Mapping[tuple[str, str], set[int] | None]) -> bool:
    """Return whether scontrol shows the job, or its own task of an array."""
    key = (array_id(job.id), job.name)
    if key not in shown:
        return False
    tasks = shown[key]
    return tasks is None or int(job.id.partition("_")[2] or 0) in tasks
