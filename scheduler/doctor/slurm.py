"""Checks of Slurm: its commands, its controller, its accounting, its configuration and the user's limits."""

import shutil
import time
from collections.abc import Iterator, Sequence

from contract.api.site_check import Check, Grade, failed_check, passed_check
from scheduler.clusters.cluster import NoAnswerError, RateLimitedError
from scheduler.clusters.slurm import limits
from scheduler.clusters.slurm.commands import ALL_PARTITIONS, Commands
from scheduler.doctor.configuration import check_configuration

REQUIRED_COMMANDS = ("sbatch", "squeue", "scancel", "scontrol")
OPTIONAL_COMMANDS = {  # the information that each command gives
    "sacct": "the end of jobs that squeue no longer lists",
    "sinfo": "the nodes on the cluster's page",
    "sacctmgr": "the limit MaxSubmitJobs",
}
SLOW_ANSWER_S = 2.0


def check_slurm(commands: Commands) -> Iterator[Check]:
    """Yield the results of all checks of Slurm, with four Slurm calls; raise RateLimitedError if one is not allowed."""
    absent = [name for name in REQUIRED_COMMANDS if not shutil.which(name)]
    if absent:
        means = "the service cannot submit or follow jobs without them"
        found, advice = f"{', '.join(absent)} not on PATH", f"add {', '.join(absent)} to the worker's PATH"
        yield failed_check("slurm", "commands", Grade.ERROR, found=found, means=means, advice=advice)
        return
    yield _optional_commands([name for name in OPTIONAL_COMMANDS if not shutil.which(name)])
    try:
        yield from _check_answers(commands)
    except RateLimitedError:
        raise
    except NoAnswerError as doubt:
        means = "no run can be submitted or monitored until slurmctld answers"
        advice = "check scontrol ping, the worker's SLURM_CONF, and munge"
        yield failed_check("slurm", "controller", Grade.ERROR, found=str(doubt), means=means, advice=advice)


def _optional_commands(missing: Sequence[str]) -> Check:
    if not missing:
        means = "the service can submit jobs, monitor them and read how they ended"
        return passed_check("slurm", "commands", "all commands are on PATH", means)
    names = ", ".join(missing)
    found, advice = f"{names} not on PATH", f"add {names} to the worker's PATH"
    means = f"the service does not know {'; '.join(OPTIONAL_COMMANDS[name] for name in missing)}"
    return failed_check("slurm", "commands", Grade.NOTE, found=found, means=means, advice=advice)


def _check_answers(commands: Commands) -> Iterator[Check]:
    began = time.monotonic()
    configuration = limits.read_configuration(commands)
    took_s = time.monotonic() - began
    yield _controller(took_s)
    yield from check_configuration(
        configuration, _partitions(commands.ask("scontrol", *ALL_PARTITIONS, "-o", "show", "partition"))
    )
    yield from _check_sacct(commands, configuration.get("AccountingStorageType", ""))
    yield _job_limit(configuration, commands)


def _controller(took_s: float) -> Check:
    found = f"answers in {1000 * took_s:.0f} ms"
    if took_s <= SLOW_ANSWER_S:
        return passed_check("slurm", "controller", found, "jobs can be submitted, and job states are updated quickly")
    means = "the service queries a slow Slurm less often, so job states are updated later"
    advice = "find the load of slurmctld with sdiag; set SchedulerParameters=max_rpc_cnt=150 if RPCs are the load"
    return failed_check("slurm", "controller", Grade.WARNING, found=found, means=means, advice=advice)


def _check_sacct(commands: Commands, kind: str) -> Iterator[Check]:
    if not kind or kind.endswith("/none") or not shutil.which("sacct"):
        return
    try:
        commands.ask("sacct", "-X", "-n", "-P", "-S", "now-1hours", "-o", "JobID,State")
        yield passed_check(
            "slurm", "sacct", "answers", "the end of a job is known after squeue no longer lists the job"
        )
    except RateLimitedError:
        raise
    except NoAnswerError as doubt:
        means = "the end of a job is known only while squeue lists the job; running jobs are not affected"
        advice = "check slurmdbd on AccountingStorageHost: systemctl status slurmdbd"
        yield failed_check("slurm", "sacct", Grade.WARNING, found=str(doubt), means=means, advice=advice)


def _job_limit(configuration: dict[str, str], commands: Commands) -> Check:
    try:
        submits, doubt = limits.read_submit_limit(commands), ""
    except RateLimitedError:
        raise
    except NoAnswerError as unknown:  # Slurm without accounting has no limits of this kind
        submits, doubt = 0, str(unknown)
    most = limits.smallest_limit(limits.parse_limits(configuration).jobs or 0, submits)
    found, means = (
        str(most),
        "the service submits at most this number of jobs at a time; other runs wait in the service",
    )
    if most is None:
        found, means = "no limit", "the service submits as many runs as Slurm accepts"
    return passed_check("slurm", "MaxSubmitJobs", f"{found} ({doubt})" if doubt else found, means)


def _partitions(text: str) -> list[dict[str, str]]:
    split = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in text.splitlines()]
    return [words for words in split if words]
