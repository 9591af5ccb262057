"""How our jobs are: squeue is asked for all of them at once, sacct for those that it has forgotten.

Either alone suffices: a cluster may have no accounting, and a controller that is down has its accounting still. A job
is known by its id and its name: Slurm gives ids again, and then an answer speaks of another job. That a job is not
listed is no answer yet.
"""

from collections.abc import Collection, Mapping, Sequence

from contract.spec.retry import Cause
from scheduler.clusters.cluster import Alive, Answer, BusyError, DoubtError, Gone, Held, Unknown
from scheduler.clusters.rate_limit import Urgency
from scheduler.clusters.slurm.commands import EVERYWHERE, Commands, rows
from scheduler.clusters.slurm.job_ids import base_of, tasks_in
from scheduler.clusters.slurm.job_states import answer_for

LEFT = Gone("the job has left Slurm", Cause.LOST, sure=False)
# a controller that died and lost jobs has its accounting end them so; of one that root cancelled, squeue tells before
FLUSHED = Gone("the accounting alone has the job, as cancelled by nobody", Cause.LOST, sure=False)
NO_JOBS = "No jobs in the system"  # scontrol's whole answer where there is none at all
AT_ONCE = 1000  # ids on a command line


def how_are(jobs: Sequence[Held], commands: Commands) -> dict[Held, Answer]:
    """Answer for every job; raise BusyError when squeue may not be called now."""
    try:
        listed = _listed(commands)
    except BusyError:
        raise
    except DoubtError as doubt:
        return _by_accounting_alone(jobs, commands, doubt)
    found = {job: answer for job in jobs if (answer := _answer(job, listed))}
    missing = [job for job in jobs if job not in found]
    if not missing:
        return found
    lasting = [job for job, answer in listed.items() if not isinstance(answer, Gone)]  # an end is forgotten one day
    return found | _long_gone(missing, lasting, commands)


def _answer(job: Held, listed: Mapping[tuple[str, str], Answer | None]) -> Answer | None:
    """What is listed of a job: by itself, or as a part of its array.

    Of an array whose waiting tasks were cancelled by their numbers one line is left, without numbers. A task that is
    left out may be another one that the answer lost, so that this is not sure.
    """
    if own := listed.get((job.id, job.name)):
        return own
    rest = listed.get((base_of(job.id), job.name))
    return rest._replace(sure=False) if isinstance(rest, Gone) else None


def _listed(commands: Commands) -> dict[tuple[str, str], Answer]:
    """All of this user's jobs by id and name, each task of an array by itself; a name may hold bars and comes last."""
    asked = ("squeue", "--me", *EVERYWHERE, "-h", "-r", "-t", "all", "-o", "%i|%T|%r|%N|%j")
    told = rows(commands.ask(*asked, urgency=Urgency.LOOK), 5)
    return {
        (job_id, name): answer_for(state, why, nodes) or _strange(state) for job_id, state, why, nodes, name in told
    }


def _strange(state: str) -> Answer:
    return Unknown(f"a state of no known name: {state}")


def _by_accounting_alone(jobs: Sequence[Held], commands: Commands, why: DoubtError) -> dict[Held, Answer]:
    """What the accounting says while squeue does not answer; of what it does not know, or is unsure of, nobody can."""
    try:
        told = _accounted(jobs, commands)
    except DoubtError as doubt:
        return {job: Unknown(f"{why}; {doubt}") for job in jobs}
    sure = {job: answer for job, answer in told.items() if answer != FLUSHED}
    return {job: sure.get(job, Unknown(str(why))) for job in jobs}


def _long_gone(jobs: Sequence[Held], listed: Collection[tuple[str, str]], commands: Commands) -> dict[Held, Answer]:
    """Ask the accounting; for what it does not know, or where there is none, the controller once more.

    `listed`: id and name of the jobs that squeue has told of, and that the controller must know as well.
    """
    try:
        told = _accounted(jobs, commands)
    except BusyError as busy:
        return {job: Unknown(str(busy)) for job in jobs}
    except DoubtError:  # a cluster without accounting, or one that is down: squeue and the controller are left
        told = {}
    ended: dict[Held, Answer] = {job: answer for job, answer in told.items() if not isinstance(answer, Alive)}
    left = [job for job in jobs if job not in ended]
    if not left:
        return ended
    # the accounting goes on believing in a job that a controller lost when it died: the controller's word is newer
    asked = _ask_controller(left, listed, commands)
    alive = {job: told[job] for job in left if job in told and isinstance(asked[job], Unknown)}
    return ended | asked | alive


def _accounted(jobs: Sequence[Held], commands: Commands) -> dict[Held, Answer]:
    ids = sorted({base_of(job.id) for job in jobs})[:AT_ONCE]
    columns = "JobID,State,ExitCode,NodeList,JobName"
    told = rows(commands.ask("sacct", "-X", "-n", "-P", "-j", ",".join(ids), "-o", columns), 5)
    listed = {
        (job_id, name): FLUSHED
        if state == "CANCELLED by 0"
        else answer_for(state, "" if code == "0:0" else f"exit code {code}", nodes)
        for job_id, state, code, nodes, name in told
    }
    return {job: answer for job in jobs if (answer := _answer(job, listed))}


def _ask_controller(
    jobs: Sequence[Held], listed: Collection[tuple[str, str]], commands: Commands
) -> dict[Held, Answer]:
    """What squeue left out and the accounting does not know: one job, or the whole list when there are several."""
    one = jobs[0].id if len({base_of(job.id) for job in jobs}) == 1 else None
    try:
        told = commands.ask("scontrol", *EVERYWHERE, "-o", "show", "job", *([base_of(one)] if one else []))
    except DoubtError as doubt:
        # the one answer that says for certain that there is no such job any more
        answer = LEFT if "Invalid job id" in str(doubt) else Unknown(str(doubt))
        return dict.fromkeys(jobs, answer)
    shown = _shown(told)
    # an answer that is empty might be a torn one, and one that leaves out what squeue has told of is not whole
    expected = {base_of(job_id) for job_id, _ in listed}
    if one:
        expected &= {base_of(one)}
    is_whole = (bool(shown) or told.strip() == NO_JOBS) and expected <= {job_id for job_id, _ in shown}
    known = Unknown("squeue does not list the job, the controller knows it")
    return {job: LEFT if is_whole and not _is_shown(job, shown) else known for job in jobs}


def _shown(told: str) -> dict[tuple[str, str], set[int] | None]:
    """What `scontrol -o show job` lists: by id and name the job, with its tasks; None where it may be any of them."""
    listed: dict[tuple[str, str], set[int] | None] = {}
    for line in told.splitlines():
        words = [word.split("=", 1) for word in line.split() if "=" in word]
        said = dict(reversed(words))  # of equal names the first counts: a command or a comment may hold any words
        if (name := said.get("JobName")) is not None and (job_id := said.get("ArrayJobId", said.get("JobId"))):
            before, more = listed.get((job_id, name), set()), tasks_in(said.get("ArrayTaskId", ""))
            listed[job_id, name] = before | more if before is not None and more else None
    return listed


def _is_shown(job: Held, listed: Mapping[tuple[str, str], set[int] | None]) -> bool:
    """Whether the job, or its own task of an array, is listed."""
    key = (base_of(job.id), job.name)
    if key not in listed:
        return False
    tasks = listed[key]
    return tasks is None or int(job.id.partition("_")[2] or 0) in tasks
