"""The commands squeue and sacct: list active and ended jobs in the requested columns."""

import time
from collections import defaultdict
from collections.abc import Sequence

from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import ACTIVE, HELD, PENDING, ClusterState, Job, current_user

TOP_PRIORITY = 4_294_901_760  # of the first job, as in a Slurm without the plugin priority/multifactor


def squeue(cluster: ClusterState, words: Sequence[str]) -> str:
    """Support -h, -r, -t all, --me, --name=..., and -o with %i %F %j %T %t %r %R %S %e %u %P %D %M %N %Q."""
    options = _parse(words, "-o", "-t")
    jobs = _filter(cluster, options, words)
    known_after = time.time() - cluster.get_number("min_job_age_s")
    with_ended = "all" in options.get("-t", "")
    jobs = [job for job in jobs if job.state in ACTIVE or (with_ended and job.ended > known_after)]
    rows = [(job.full_id, job) for job in jobs] if "-r" in words else _collapse_arrays(jobs)
    pattern = options.get("-o", "%i %P %j %u %T %M %D %R")
    return "".join(_format(pattern, name, job) + "\n" for name, job in rows)


def sacct(cluster: ClusterState, words: Sequence[str]) -> str:
    """Support -X -n -P, -j ids, --name=..., -S (ignored), -o JobID,JobName,State,ExitCode,NodeList,Submit,Start,End."""
    if not cluster.get_number("accounting"):
        raise SlurmError("Slurm accounting storage is disabled")
    options = _parse(words, "-o", "-j", "-S", "-u")
    jobs = _filter(cluster, options, words)
    if "-j" in options:
        ids = {int(word.partition("_")[0]) for word in options["-j"].split(",")}
        # For an id that occurs twice, sacct shows the latest job, unless -D requests duplicates.
        latest = {job.full_id: job for job in jobs if job.id in ids}
        jobs = jobs if "-D" in words else list(latest.values())
        jobs = [job for job in jobs if job.id in ids]
    known_until = time.time() - cluster.get_number("sacct_late_s")
    lines = []
    for job in jobs:
        if job.submitted > known_until:
            continue
        state = "RUNNING" if job.ended > known_until else job.state
        fields = [_field(job, name, state) for name in options.get("-o", "JobID,State").split(",")]
        lines.append("|".join(fields) + "\n")
    return "".join(lines)


def _parse(words: Sequence[str], *with_value: str) -> dict[str, str]:
    found = {}
    for number, word in enumerate(words):
        name, is_long, value = word.partition("=")
        if is_long:
            found[name] = value
        elif word in with_value and number + 1 < len(words):
            found[word] = words[number + 1]
    return found


def _filter(cluster: ClusterState, options: dict[str, str], words: Sequence[str]) -> list[Job]:
    names = options["--name"].split(",") if "--name" in options else []
    users = [current_user()] if "--me" in words else []
    given = [(column, values) for column, values in (("name", names), ("user", users)) if values]
    where = [f"{column} IN ({', '.join('?' * len(values))})" for column, values in given]
    return cluster.jobs(" AND ".join(["1", *where]), *(value for _, values in given for value in values))


def _collapse_arrays(jobs: Sequence[Job]) -> list[tuple[str, Job]]:
    """Put the pending tasks of an array on one line, such as 77_[0,1,2]."""
    pending: dict[int, list[Job]] = defaultdict(list)
    for job in jobs:
        if job.task is not None and job.state == PENDING:
            pending[job.id].append(job)
    rows = [(f"{id_}_[{','.join(str(job.task) for job in tasks)}]", tasks[0]) for id_, tasks in pending.items()]
    return rows + [(job.full_id, job) for job in jobs if job.task is None or job.state != PENDING]


def _format(pattern: str, name: str, job: Job) -> str:
    elapsed = int((job.ended or time.time()) - job.started) if job.started else 0
    letters = {
        "%i": name,
        "%F": str(job.id),
        "%j": job.name,
        "%T": job.state.split()[0],
        "%t": job.state[:2],
        "%r": job.reason,
        "%R": f"({job.reason})" if job.state == PENDING else job.hosts,
        "%S": _timestamp(job.started) if job.started else "N/A",
        "%e": _timestamp(job.ended) if job.ended else "N/A",
        "%u": job.user,
        "%P": job.partition,
        "%D": str(job.nodes),
        "%M": f"{elapsed // 60}:{elapsed % 60:02}",
        "%N": job.hosts,
        "%Q": "0" if job.reason == HELD else str(TOP_PRIORITY - job.row),  # first come, first served
    }
    for letter, value in letters.items():
        pattern = pattern.replace(letter, value)
    return pattern


def _field(job: Job, name: str, state: str) -> str:
    values = {
        "jobid": job.full_id,
        "jobname": job.name,
        "state": state,
        "exitcode": job.exit_code or "0:0",
        "nodelist": job.hosts or "None assigned",
        "submit": _timestamp(job.submitted),
        "start": _timestamp(job.started),
        "end": _timestamp(job.ended),
        "user": job.user,
        "restarts": str(job.restarts),
    }
    return values.get(name.lower(), "")


def _timestamp(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at)) if at else "Unknown"
