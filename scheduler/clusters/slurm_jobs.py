"""How our jobs are: squeue is asked for all of them at once, sacct for those that it has forgotten.

squeue alone suffices; sacct is asked only where squeue has answered. A job is known by its id and its name: Slurm gives
ids again, and then an answer speaks of another job. That a job is not listed is no answer yet.
"""

from collections.abc import Sequence

from contract.retries import Cause
from scheduler.clusters.cluster import Alive, Answer, BusyError, DoubtError, Gone, Held, Unknown
from scheduler.clusters.slurm_commands import Commands, rows
from scheduler.clusters.slurm_ids import base_of
from scheduler.clusters.slurm_states import answer_for

LEFT = Gone("the job has left Slurm", Cause.LOST, sure=False)
# a controller that died and lost jobs has its accounting end them so; of one that root cancelled, squeue tells before
FLUSHED = Gone("the accounting alone has the job, as cancelled by nobody", Cause.LOST, sure=False)
AT_ONCE = 200  # ids on a command line


def how_are(jobs: Sequence[Held], commands: Commands) -> dict[str, Answer]:
    """Answer for every job; raise BusyError when squeue may not be called now, DoubtError when it does not answer."""
    listed = _listed(commands)
    found = {job.id: listed[job.id, job.name] for job in jobs if (job.id, job.name) in listed}
    missing = [job for job in jobs if job.id not in found]
    return found | _long_gone(missing, commands) if missing else found


def _listed(commands: Commands) -> dict[tuple[str, str], Answer]:
    """All of this user's jobs by id and name, each task of an array by itself; a name may hold bars and comes last."""
    told = rows(commands.ask("squeue", "--me", "-h", "-r", "-t", "all", "-o", "%i|%T|%r|%j"), 4)
    return {(job_id, name): answer_for(state, why) or _strange(state) for job_id, state, why, name in told}


def _strange(state: str) -> Answer:
    return Unknown(f"a state of no known name: {state}")


def _long_gone(jobs: Sequence[Held], commands: Commands) -> dict[str, Answer]:
    """Ask the accounting; for what it does not know, or where there is none, the controller once more."""
    try:
        told = _accounted(jobs, commands)
    except BusyError as busy:
        return {job.id: Unknown(str(busy)) for job in jobs}
    except DoubtError:  # a cluster without accounting, or one that is down: squeue and the controller are left
        told = {}
    ended: dict[str, Answer] = {job_id: answer for job_id, answer in told.items() if not isinstance(answer, Alive)}
    left = [job for job in jobs if job.id not in ended]
    if not left:
        return ended
    # the accounting goes on believing in a job that a controller lost when it died: the controller's word is newer
    asked = _ask_controller(left, commands)
    alive = {job.id: told[job.id] for job in left if job.id in told and isinstance(asked[job.id], Unknown)}
    return ended | asked | alive


def _accounted(jobs: Sequence[Held], commands: Commands) -> dict[str, Answer]:
    ids = sorted({base_of(job.id) for job in jobs})[:AT_ONCE]
    told = rows(commands.ask("sacct", "-X", "-n", "-P", "-j", ",".join(ids), "-o", "JobID,State,ExitCode,JobName"), 4)
    listed = {
        (job_id, name): FLUSHED
        if state == "CANCELLED by 0"
        else answer_for(state, "" if code == "0:0" else f"exit code {code}")
        for job_id, state, code, name in told
    }
    return {job.id: answer for job in jobs if (answer := listed.get((job.id, job.name)))}


def _ask_controller(jobs: Sequence[Held], commands: Commands) -> dict[str, Answer]:
    """What squeue left out and the accounting does not know: one job, or the whole list when there are several."""
    one = jobs[0].id if len({base_of(job.id) for job in jobs}) == 1 else None
    try:
        told = commands.ask("scontrol", "-o", "show", "job", *([base_of(one)] if one else []))
    except DoubtError as doubt:
        # the one answer that says for certain that there is no such job any more
        answer = LEFT if "Invalid job id" in str(doubt) else Unknown(str(doubt))
        return {job.id: answer for job in jobs}
    names = {word.removeprefix("JobName=") for word in told.split() if word.startswith("JobName=")}
    known = Unknown("squeue does not list the job, the controller knows it")
    # an answer that is empty might be a torn one
    return {job.id: known if job.name in names or not names else LEFT for job in jobs}
