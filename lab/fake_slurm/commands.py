"""One of Slurm's commands is called: first its fault, if one is switched on, then what Slurm would do."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.fake_slurm import sbatch as submission
from lab.fake_slurm import scontrol as telling
from lab.fake_slurm import squeue as listing
from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import Stage

UNREACHABLE = "Unable to contact slurm controller (connect failure)"
TIMED_OUT = "Socket timed out on send/recv operation"
SLURMDBD = "slurm_persist_conn_open_without_init: failed to open persistent connection to host: Connection refused"

ANSWERS: dict[str, Callable[[Stage, Sequence[str]], str]] = {
    "sbatch": submission.sbatch,
    "scancel": submission.scancel,
    "squeue": listing.squeue,
    "sacct": listing.sacct,
    "scontrol": telling.scontrol,
    "sacctmgr": telling.sacctmgr,
    "sinfo": telling.sinfo,
}


def main(command: str, folder: str, words: Sequence[str]) -> int:
    """Carry out one command; return its exit status."""
    stage = Stage(Path(folder))
    try:
        sys.stdout.write(answer(stage, command, words))
    except SlurmError as error:
        if str(error):  # else the real command has said it
            print(f"{command}: error: {error}", file=sys.stderr)
        return 1
    return 0


def _real(command: str, programs: str, words: Sequence[str]) -> str:
    """What the real command says: with a real Slurm behind it, the stand-in adds its faults and nothing else."""
    done = subprocess.run([f"{programs}/{command}", *words], capture_output=True, text=True, errors="replace")
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise SlurmError("")
    return done.stdout


def answer(stage: Stage, command: str, words: Sequence[str]) -> str:
    """What the command prints; raise SlurmError when it fails."""
    fault, number = stage.fault(command)
    stage.note(command, words)  # whoever sees the call may switch the fault off: this call has it
    match fault:
        case "slow":
            time.sleep(number)
        case "down":
            raise SlurmError(SLURMDBD if command.startswith("sacct") else UNREACHABLE)
        case "timeout":
            raise SlurmError(TIMED_OUT)
        case "refuse":
            raise SlurmError("Batch job submission failed: Invalid partition name specified")
        case "ignored":
            return ""
        case "forget":
            raise SlurmError("slurm_load_jobs error: Invalid job id specified")
    told = _real(command, real, words) if (real := stage.real()) else ANSWERS[command](stage, words)
    match fault:
        case "accept-then-timeout":
            raise SlurmError(TIMED_OUT)
        case "accept-then-hang":
            time.sleep(number)
        case "empty":
            return ""
        case "garbage":
            return "\x00\x17slurm_receive_msg|||\nunexpected|EOF\n" + told[::-1]
        case "partial":
            return "".join(told.splitlines(keepends=True)[::2])
        case "torn":
            return told[: len(told) // 2]
    return told
