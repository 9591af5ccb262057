"""scontrol, sacctmgr and sinfo: what the cluster is, and what is done to jobs by hand."""

from collections.abc import Sequence

from lab.fake_slurm import faults as mishaps
from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import UNDER_WAY, Job, Stage, user


def scontrol(stage: Stage, words: Sequence[str]) -> str:
    """show config, show job [ID], ping, and what is done to a job: hold, release, requeue ID."""
    match [word for word in words if not word.startswith("-")]:
        case ["show", "config"]:
            return _configuration(stage)
        case ["show", "job"]:
            return "".join(_line(job) for job in _known(stage)) or "No jobs in the system\n"
        case ["show", "job", spelled]:
            base = int(spelled.partition("_")[0])
            if not (found := [job for job in _known(stage) if job.id == base]):
                raise SlurmError("Invalid job id specified")
            return "".join(_line(job) for job in found)
        case ["ping"]:
            return "Slurmctld(primary) at standin is UP\n"
        case [("hold" | "release" | "requeue") as verb, spelled]:
            with stage.alone():
                {"hold": mishaps.hold, "release": mishaps.release, "requeue": mishaps.requeue}[verb](stage, spelled)
            return ""
    raise SlurmError(f"the stand-in has no such command: scontrol {' '.join(words)}")


def sacctmgr(stage: Stage, words: Sequence[str]) -> str:
    """Who may submit how much."""
    if not stage.number("accounting"):
        raise SlurmError("You are not running a supported accounting_storage plugin")
    most = int(stage.number("max_submit"))
    return f"{user()}|{most or ''}\n"


def sinfo(stage: Stage, words: Sequence[str]) -> str:
    """Every host once, all in one partition; or the version."""
    if "-V" in words or "--version" in words:
        return "slurm 0.0-standin\n"
    lines = []
    for name, cpus, down in stage.db.execute("SELECT name, cpus, down FROM hosts"):
        lines.append(
            f"{name}|gpu*|up|1-00:00:00|NO|{'down' if down else 'idle'}|0/{cpus}/0/{cpus}|4000|(null)|(null)\n"
        )
    return "".join(lines)


def _configuration(stage: Stage) -> str:
    told = {
        "SLURM_VERSION": "0.0-standin",
        "MaxArraySize": int(stage.number("max_array_size")),
        "MaxJobCount": 20_000,
        "MinJobAge": f"{int(stage.number('min_job_age_s'))} sec",
        "KillWait": f"{int(stage.number('kill_wait_s'))} sec",
    }
    return "".join(f"{name:<24}= {value}\n" for name, value in told.items())


def _known(stage: Stage) -> list[Job]:
    return stage.jobs(
        "state IN (?, ?, ?) OR ended > strftime('%s', 'now') - ?", *UNDER_WAY, stage.number("min_job_age_s")
    )


def _line(job: Job) -> str:
    array = "" if job.task is None else f"ArrayJobId={job.id} ArrayTaskId={job.task} "
    return f"JobId={job.id} {array}JobName={job.name} JobState={job.state.split()[0]} Reason={job.reason}\n"
