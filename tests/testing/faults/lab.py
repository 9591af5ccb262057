"""What is done to the lab by force: its daemons, hosts and jobs, each fault with what mends it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lab import layout, processes
from lab.services import daemons
from lab.services.daemons import Daemon
from lab.state_folder import StateFolder, selected_folder
from tests.testing.faults.truth import UNDER_WAY, Job

ACCOUNTED = "JobID,JobIDRaw,JobName,State,ExitCode,Submit,Start,End,NodeList"  # what sacct shows of a job


def mend(limit: int | None = -1) -> None:
    """Bring back whatever is missing; what runs goes on. `limit` of submitted jobs: as it is, unless one is given."""
    folder = selected_folder()
    there = layout.load(folder.layout)
    assert there
    if limit == -1:
        limit = there.max_submit_jobs
    words = ["--rate", there.rate] if there.rate else []
    words += ["--min-job-age", str(there.min_job_age_s), "--max-array-size", str(there.max_array_size)]
    words += ["--max-submit-jobs", str(limit)] if limit else []
    words += [] if there.has_accounting else ["--no-accounting"]
    subprocess.run([sys.executable, "-m", "lab", "up", *words], check=True, stdout=subprocess.DEVNULL)
    # a controller that was killed gives ids again that its hosts still have ("Duplicate jobid"): they are drained then,
    # until an administrator looks
    for host in hosts():
        if "drain" in slurm("sinfo", "-h", "-n", host, "-o", "%T"):
            tried(lambda host=host: slurm("scontrol", "update", f"NodeName={host}", "State=RESUME"))  # type: ignore[misc]


def hosts() -> list[str]:
    """The hosts of the partition that our runs use."""
    there = layout.load(selected_folder().layout)
    assert there
    return [host.name for host in there.hosts if host.gpus]


def kill_daemon(name: str) -> None:
    """SIGKILL to a daemon of the head, such as slurmctld, and to what it has started."""
    _kill(_daemon(name))


def freeze_daemon(name: str) -> None:
    """SIGSTOP to a daemon of the head: connections to it are made, and nobody answers."""
    _signal(name, signal.SIGSTOP)


def thaw_daemon(name: str) -> None:
    """SIGCONT to a daemon that was stopped."""
    _signal(name, signal.SIGCONT)


def _signal(name: str, signum: signal.Signals) -> None:
    for process in _daemon(name).processes():
        with suppress(ProcessLookupError):
            os.kill(process.pid, signum)


def _daemon(name: str) -> Daemon:
    (daemon,) = [daemon for daemon in daemons.head_daemons(selected_folder()) if daemon.name == name]
    return daemon


def kill_host(host: str) -> None:
    """SIGKILL to a host's slurmd and to every process on it."""
    folder = selected_folder()
    there = layout.load(folder.layout)
    assert there
    (daemon,) = [daemon for daemon in daemons.host_daemons(there, folder) if daemon.name == f"slurmd-{host}"]
    _kill(daemon)


def _kill(daemon: Daemon) -> None:
    alive = daemon.processes()
    there = (
        processes.find_in_networks(process.network for process in alive)
        if daemon.host
        else processes.find_children(alive)
    )
    for process in [*alive, *there]:
        kill(process.pid)


def ranks_of(folder: str) -> list[int]:
    """The processes of a run's ranks, by the folder on their command lines, rank 0 first."""
    wanted = {folder, str(Path(folder).resolve())}
    ranks: dict[int, int] = {}
    for process in processes.iter_processes():
        if any(word.startswith("/") and str(Path(word).resolve()) in wanted for word in process.words):
            environment = _environment(process.pid)
            if "SLURM_PROCID" in environment and process.program.startswith(("python", "pt_")):
                ranks[process.pid] = int(environment["SLURM_PROCID"])
    return sorted(ranks, key=lambda pid: ranks[pid])


def _environment(pid: int) -> dict[str, str]:
    try:
        words = (processes.PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(os.fsdecode(word).partition("=")[::2] for word in words)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def slurm(*words: str, folder: StateFolder | None = None) -> str:
    """Call one of the lab's own commands by hand."""
    environment = {**os.environ, "SLURM_CONF": str((folder or selected_folder()).slurm_conf)}
    return subprocess.run(words, env=environment, check=True, capture_output=True, text=True, timeout=90).stdout


def answered(*words: str) -> str:
    """What Slurm answers to a question: one that goes unanswered, as on a crowded machine, is asked once more."""
    with suppress(subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return slurm(*words)
    return slurm(*words)


def tried(work: Callable[[], object]) -> bool:
    """Whether a command went through: the job that it meant may have ended a moment ago."""
    try:
        work()
    except subprocess.CalledProcessError:
        return False
    return True


def requeue(job_id: str) -> None:
    """Requeue a job by hand, though it was submitted as one that is not."""
    slurm("scontrol", "update", f"JobId={job_id}", "Requeue=1")
    slurm("scontrol", "requeue", job_id)


def preempt(host: str, seconds: int = 3) -> str:
    """A job of the higher partition takes the host, all of it, for so long."""
    reported = slurm(
        "sbatch", "-p", "urgent", "-w", host, "--exclusive", "-o", "/dev/null", "--wrap", f"sleep {seconds}"
    )
    return str(re.findall(r"\d+", reported)[0])


def first_choice() -> str:
    """Return the host on which Slurm would start a job of one host now."""
    words = ("sbatch", "--test-only", "-p", "gpu", "--wrap", "true")
    environment = {**os.environ, "SLURM_CONF": str(selected_folder().slurm_conf)}
    done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True, timeout=90)
    (host,) = re.findall(r"on nodes (\S+)", done.stderr)
    return str(host)


def sbatch_waits(folder: str) -> bool:
    """Whether an sbatch has begun that hands in the script of the run in this folder, and has not ended."""
    mine = f"{Path(folder).resolve()}/"
    return any(
        p.program == "sbatch" and any(word.startswith(mine) for word in p.words) for p in processes.iter_processes()
    )


def jobs() -> list[Job]:
    """What Slurm says of every job that it still knows."""
    answer = answered("squeue", "-h", "-r", "-t", "all", "-o", "%i|%T|%j")
    return [Job(job_id, name, state) for job_id, state, name in (line.split("|", 2) for line in answer.splitlines())]


def is_under_way(job_id: str, *states: str) -> bool:
    """Whether Slurm has the job still, in one of these states if any are named."""
    return any(job.id == job_id and job.state in (states or UNDER_WAY) for job in jobs())


def accounting(since: float) -> list[tuple[str, str]]:
    """Id and name of every job of ours that Slurm's accounting has since then; one that was requeued counts once."""
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(since))
    answer = answered("sacct", "-X", "-n", "-P", "-D", "-a", "-S", start, "-o", "JobID,JobName")
    rows = [line.split("|", 1) for line in answer.splitlines()]
    return sorted({(job_id, name) for job_id, name in rows if name.startswith("bigbatch-")})
