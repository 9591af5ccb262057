"""The commands scontrol, sacctmgr and sinfo: show the cluster; hold, release and requeue jobs."""

from collections.abc import Sequence

from lab.fake_slurm import faults
from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import ACTIVE, ClusterState, Job, current_user


def scontrol(cluster: ClusterState, words: Sequence[str]) -> str:
    """Support show config, show job [ID], ping, hold ID, release ID and requeue ID."""
    match [word for word in words if not word.startswith("-")]:
        case ["show", "config"]:
            return _configuration(cluster)
        case ["show", "job"]:
            return "".join(_line(job) for job in _known_jobs(cluster)) or "No jobs in the system\n"
        case ["show", "job", full_id]:
            base = int(full_id.partition("_")[0])
            if not (found := [job for job in _known_jobs(cluster) if job.id == base]):
                raise SlurmError("Invalid job id specified")
            return "".join(_line(job) for job in found)
        case ["ping"]:
            return "Slurmctld(primary) at fake is UP\n"
        case [("hold" | "release" | "requeue") as verb, full_id]:
            with cluster.transaction():
                {"hold": faults.hold, "release": faults.release, "requeue": faults.requeue}[verb](cluster, full_id)
            return ""
    raise SlurmError(f"the fake Slurm does not support: scontrol {' '.join(words)}")


def sacctmgr(cluster: ClusterState, words: Sequence[str]) -> str:
    """Print the user and the user's limit of submitted jobs."""
    if not cluster.get_number("accounting"):
        raise SlurmError("You are not running a supported accounting_storage plugin")
    limit = int(cluster.get_number("max_submit"))
    return f"{current_user()}|{limit or ''}\n"


def sinfo(cluster: ClusterState, words: Sequence[str]) -> str:
    """Print every host once, all in one partition; or the version."""
    if "-V" in words or "--version" in words:
        return "slurm 0.0-fake\n"
    lines = []
    for name, cpus, down in cluster.db.execute("SELECT name, cpus, down FROM hosts"):
        lines.append(
            f"{name}|gpu*|up|1-00:00:00|NO|{'down' if down else 'idle'}|0/{cpus}/0/{cpus}|4000|(null)|(null)\n"
        )
    return "".join(lines)


def _configuration(cluster: ClusterState) -> str:
    settings = {
        "SLURM_VERSION": "0.0-fake",
        "MaxArraySize": int(cluster.get_number("max_array_size")),
        "MaxJobCount": 20_000,
        "MinJobAge": f"{int(cluster.get_number('min_job_age_s'))} sec",
        "KillWait": f"{int(cluster.get_number('kill_wait_s'))} sec",
    }
    return "".join(f"{name:<24}= {value}\n" for name, value in settings.items())


def _known_jobs(cluster: ClusterState) -> list[Job]:
    return cluster.jobs(
        "state IN (?, ?, ?) OR ended > strftime('%s', 'now') - ?", *ACTIVE, cluster.get_number("min_job_age_s")
    )


def _line(job: Job) -> str:
    array = "" if job.task is None else f"ArrayJobId={job.id} ArrayTaskId={job.task} "
    return f"JobId={job.id} {array}JobName={job.name} JobState={job.state.split()[0]} Reason={job.reason}\n"
