"""A run folder comes to life: this process becomes one rank under Slurm, or the parent of all ranks elsewhere.

The one file of this room that a scheduler imports: torch stays unloaded until a rank lives.
Exit status: 0 done, 1 failed, 2 no spec that can be read, 3 another job has this attempt, 4 paused; 143 or 140: asked
to pause by SIGTERM or SIGUSR2, without a common step in time.
"""

import os
import sys
import time
from typing import NoReturn

from pydantic import ValidationError

from contract.folder.job_identity import MEMBER, own_job_id
from contract.folder.run_folder import RunFolder
from contract.spec.resources import Local, Slurm
from contract.spec.run import RunSpec
from contract.validation import faults_of
from trainers.attempt_claim import Refused, settle
from trainers.ranks import cpu_binding as binding
from trainers.ranks import local_ranks as local
from trainers.ranks import rank_info as place
from trainers.ranks import rank_process as rank
from trainers.recovery.preemption_signal import Notice, leave_at_once

NO_SPEC, NOT_OURS = 2, 3
LATE_S = 60.0  # for so long a shared file system may not show what the scheduler has written


def carry_out(folder: RunFolder, attempt: int | None = None) -> None:
    """Carry an attempt out; by hand, without a number, the next free one. Raise SystemExit unless all went well."""
    run = _read(folder, patience_s=LATE_S if attempt else 0.0)
    # a local run started from a shell inside a Slurm job is still a local one
    is_one_rank = {"SLURM_JOB_ID", "SLURM_PROCID"} <= os.environ.keys() and not isinstance(run.resources, Local)
    try:
        status = _one_rank(folder, attempt, run) if is_one_rank else _all_ranks(folder, attempt)
    except Refused as refusal:
        _leave(NOT_OURS, str(refusal))
    if status:
        raise SystemExit(status)


def _read(folder: RunFolder, *, patience_s: float) -> RunSpec:
    try:
        await_spec(folder, patience_s)
        return folder.read_spec()
    except OSError as error:
        _leave(NO_SPEC, f"no spec can be read in {folder.path}: {error.strerror}")
    except ValidationError as error:
        faults = "; ".join(
            f"{fault.path}: {fault.message}" if fault.path else fault.message for fault in faults_of(error)
        )
        _leave(NO_SPEC, f"the spec in {folder.path} cannot be carried out: {faults}")


def await_spec(folder: RunFolder, patience_s: float) -> None:
    """Wait for a spec that was written before this job was submitted: a shared file system may show it late."""
    until, needed = time.monotonic() + patience_s, [folder.path / "attempts", folder.path / "spec.json"]
    while not all(path.exists() for path in needed) and time.monotonic() < until:
        time.sleep(0.5)


def _leave(status: int, message: str) -> NoReturn:
    sys.stderr.write(f"{' '.join(message.split())}\n")  # in one write: several ranks may say it
    raise SystemExit(status)


def _one_rank(folder: RunFolder, attempt: int | None, run: RunSpec) -> int:
    here, need = place.in_slurm(), run.resources
    if isinstance(need, Slurm) and need.many_core:
        here = binding.take(need.many_core, here, rank_cpus=need.rank_cpus)
    # submitit lets SIGTERM pass by and requeues on SIGUSR2; here both ask for a pause
    notice = Notice(leave_at_once)
    notice.listen()
    rank.live(folder, settle(folder, attempt, job=_slurm_job()), here, notice=notice)
    return 0


def _slurm_job() -> str:
    """The job's id; a job that Slurm has requeued, or a second step of one, is not who claimed the attempt.

    Where runs share a job each is a step of it, of whatever number, and known by its place.
    """
    restarts, step = os.environ.get("SLURM_RESTART_COUNT", "0"), os.environ.get("SLURM_STEP_ID", "0")
    again = f" (restart {restarts})" if restarts != "0" else ""
    member = os.environ.get(MEMBER)
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return (
        (f"{array}_{task}" if array and task else os.environ["SLURM_JOB_ID"])
        + (f" (member {member})" if member else "")
        + again
        + (f" (step {step})" if step != "0" and not member else "")
    )


def _all_ranks(folder: RunFolder, attempt: int | None) -> int:
    return local.carry_out(folder, settle(folder, attempt, job=own_job_id()))
