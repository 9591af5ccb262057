"""Run one attempt of a run folder: as one rank under Slurm, or as the parent process of all ranks on one machine.

The scheduler imports this module, so torch must not be loaded before a rank trains.
Exit status: 0 done; 1 failed; 2 the spec cannot be read; 3 another job owns the attempt; 4 paused; 143 or 140 the
process received SIGTERM or SIGUSR2 and the ranks reached no common step in time.
"""

import os
import socket
import subprocess
import sys
import time
from typing import NoReturn

from pydantic import ValidationError

from agent.system.recorder import start_recorder
from contract.folder.run_folder import RunFolder
from contract.spec.resources import Local, Slurm
from contract.spec.run import RunSpec
from contract.validation import issues_of
from runfiles.claim import ClaimRefused, claim_attempt
from runfiles.exit_status import REFUSED
from runfiles.job_folder import JobFolder
from runfiles.job_name import own_local_job, slurm_job
from trainers.ranks import cpu_binding, rank_process
from trainers.ranks.launch import local_ranks, slurm_step
from trainers.ranks.rank_info import read_slurm_rank
from trainers.recovery.preemption_signal import PreemptionSignal, exit_now

SPEC_UNREADABLE = 2  # exit status
SPEC_WAIT_S = 60.0  # a shared file system may show the scheduler's files so late


def run_attempt(folder: RunFolder, attempt: int | None = None) -> None:
    """Run an attempt, or the next free attempt if `attempt` is None. Raise SystemExit unless the run is done."""
    run = _read_spec(folder, timeout_s=SPEC_WAIT_S if attempt else 0.0)
    # a user may start a local run from a shell inside a Slurm job
    is_one_rank = {"SLURM_JOB_ID", "SLURM_PROCID"} <= os.environ.keys() and not isinstance(run.resources, Local)
    try:
        status = _run_slurm_rank(folder, attempt, run) if is_one_rank else _run_all_ranks(folder, attempt, run)
    except ClaimRefused as refusal:
        _exit(REFUSED, str(refusal))
    if status:
        raise SystemExit(status)


def _read_spec(folder: RunFolder, *, timeout_s: float) -> RunSpec:
    try:
        wait_for_spec(folder, timeout_s)
        return folder.read_spec()
    except OSError as error:
        _exit(SPEC_UNREADABLE, f"no spec can be read in {folder.path}: {error.strerror}")
    except ValidationError as error:
        issues = "; ".join(
            f"{issue.path}: {issue.message}" if issue.path else issue.message for issue in issues_of(error)
        )
        _exit(SPEC_UNREADABLE, f"the spec in {folder.path} cannot be carried out: {issues}")


def wait_for_spec(folder: RunFolder, timeout_s: float) -> None:
    """Wait at most `timeout_s` until the spec is visible: a shared file system may show a new file late."""
    until, needed = time.monotonic() + timeout_s, [folder.path / "attempts", folder.path / "spec.json"]
    while not all(path.exists() for path in needed) and time.monotonic() < until:
        time.sleep(0.5)


def _exit(status: int, message: str) -> NoReturn:
    sys.stderr.write(f"{' '.join(message.split())}\n")  # one write, because several ranks may write at once
    raise SystemExit(status)


def _run_slurm_rank(folder: RunFolder, attempt: int | None, run: RunSpec) -> int:
    rank_info, resources = read_slurm_rank(), run.resources
    if isinstance(resources, Slurm) and resources.many_core:
        rank_info = cpu_binding.bind_process(resources.many_core, rank_info, rank_cpus=resources.rank_cpus)
    # this replaces submitit's handlers, which ignore SIGTERM and requeue the job at SIGUSR2
    preemption = PreemptionSignal(exit_now)
    preemption.listen()
    number = claim_attempt(JobFolder(folder.path), attempt, job=slurm_job())
    if rank_info.local_rank == 0:
        node = int(os.environ.get("SLURM_NODEID", "0"))
        start_recorder(folder.path, number, host=rank_info.host, node=node, every_s=run.system_metrics_s)
    rank_process.run_rank(folder, number, rank_info, preemption=preemption)
    if rank_info.rank == 0 and any(lost.attempt == number for lost in folder.read_lost_ranks()):
        _end_lost_ranks()
    return 0


def _end_lost_ranks() -> None:
    """End the ranks without which rank 0 has finished the run: one whose process hangs would never end."""
    sys.stdout.flush()
    try:
        slurm_step.kill_own_step()
    except (OSError, subprocess.SubprocessError) as error:
        # the run is done all the same; Slurm ends the job at its time limit
        sys.stderr.write(f"the lost ranks cannot be ended: {error}\n")


def _run_all_ranks(folder: RunFolder, attempt: int | None, run: RunSpec) -> int:
    number = claim_attempt(JobFolder(folder.path), attempt, job=own_local_job())
    start_recorder(folder.path, number, host=socket.gethostname(), node=0, every_s=run.system_metrics_s)
    return local_ranks.run_local_ranks(folder, number)
