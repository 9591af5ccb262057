"""squeue and sacct: what there is, and what there was, in the columns that were asked for."""

import time
from collections import defaultdict
from collections.abc import Sequence

from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import UNDER_WAY, WAITS, Job, Stage, user


def squeue(stage: Stage, words: Sequence[str]) -> str:
    """-h, -r, -t all, --me, --name=..., -o with %i %F %j %T %t %r %R %u %P %D %M %N."""
    asked = _asked(words, "-o", "-t")
    jobs = _filtered(stage, asked, words)
    known_after = time.time() - stage.number("min_job_age_s")
    ended = "all" in asked.get("-t", "")
    jobs = [job for job in jobs if job.state in UNDER_WAY or (ended and job.ended > known_after)]
    rows = [(job.spelled, job) for job in jobs] if "-r" in words else _collapsed(jobs)
    form = asked.get("-o", "%i %P %j %u %T %M %D %R")
    return "".join(_formatted(form, name, job) + "\n" for name, job in rows)


def sacct(stage: Stage, words: Sequence[str]) -> str:
    """-X -n -P, -j ids, --name=..., -S (ignored), -o JobID,JobName,State,ExitCode,NodeList,Submit,Start,End."""
    if not stage.number("accounting"):
        raise SlurmError("Slurm accounting storage is disabled")
    asked = _asked(words, "-o", "-j", "-S", "-u")
    jobs = _filtered(stage, asked, words)
    if "-j" in asked:
        ids = {int(word.partition("_")[0]) for word in asked["-j"].split(",")}
        # of an id that was given twice sacct tells the latest, unless it is asked for duplicates
        latest = {job.spelled: job for job in jobs if job.id in ids}
        jobs = jobs if "-D" in words else list(latest.values())
        jobs = [job for job in jobs if job.id in ids]
    known_until = time.time() - stage.number("sacct_late_s")
    lines = []
    for job in jobs:
        if job.submitted > known_until:
            continue
        told = "RUNNING" if job.ended > known_until else job.state
        fields = [_field(job, name, told) for name in asked.get("-o", "JobID,State").split(",")]
        lines.append("|".join(fields) + "\n")
    return "".join(lines)


def _asked(words: Sequence[str], *with_value: str) -> dict[str, str]:
    found = {}
    for number, word in enumerate(words):
        name, is_long, value = word.partition("=")
        if is_long:
            found[name] = value
        elif word in with_value and number + 1 < len(words):
            found[word] = words[number + 1]
    return found


def _filtered(stage: Stage, asked: dict[str, str], words: Sequence[str]) -> list[Job]:
    names = asked["--name"].split(",") if "--name" in asked else []
    mine = [user()] if "--me" in words else []
    given = [(column, values) for column, values in (("name", names), ("user", mine)) if values]
    where = [f"{column} IN ({', '.join('?' * len(values))})" for column, values in given]
    return stage.jobs(" AND ".join(["1", *where]), *(value for _, values in given for value in values))


def _collapsed(jobs: Sequence[Job]) -> list[tuple[str, Job]]:
    """Waiting tasks of an array share a line, as 77_[0-2%1]."""
    waiting: dict[int, list[Job]] = defaultdict(list)
    for job in jobs:
        if job.task is not None and job.state == WAITS:
            waiting[job.id].append(job)
    rows = [(f"{id_}_[{','.join(str(job.task) for job in tasks)}]", tasks[0]) for id_, tasks in waiting.items()]
    return rows + [(job.spelled, job) for job in jobs if job.task is None or job.state != WAITS]


def _formatted(form: str, name: str, job: Job) -> str:
    elapsed = int((job.ended or time.time()) - job.started) if job.started else 0
    letters = {
        "%i": name,
        "%F": str(job.id),
        "%j": job.name,
        "%T": job.state.split()[0],
        "%t": job.state[:2],
        "%r": job.reason,
        "%R": f"({job.reason})" if job.state == WAITS else job.hosts,
        "%u": job.user,
        "%P": job.partition,
        "%D": str(job.nodes),
        "%M": f"{elapsed // 60}:{elapsed % 60:02}",
        "%N": job.hosts,
    }
    for letter, value in letters.items():
        form = form.replace(letter, value)
    return form


def _field(job: Job, name: str, state: str) -> str:
    told = {
        "jobid": job.spelled,
        "jobname": job.name,
        "state": state,
        "exitcode": job.code or "0:0",
        "nodelist": job.hosts or "None assigned",
        "submit": _moment(job.submitted),
        "start": _moment(job.started),
        "end": _moment(job.ended),
        "user": job.user,
        "restarts": str(job.restarts),
    }
    return told.get(name.lower(), "")


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(at)) if at else "Unknown"
