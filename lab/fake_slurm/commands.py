"""Execute one of Slurm's commands: apply the injected fault, if any, to the result of the command."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.fake_slurm import sbatch, scontrol, squeue
from lab.fake_slurm.errors import SlurmError
from lab.fake_slurm.state import ClusterState

UNREACHABLE = "Unable to contact slurm controller (connect failure)"
TIMED_OUT = "Socket timed out on send/recv operation"
SLURMDBD = "slurm_persist_conn_open_without_init: failed to open persistent connection to host: Connection refused"

COMMANDS: dict[str, Callable[[ClusterState, Sequence[str]], str]] = {
    "sbatch": sbatch.sbatch,
    "scancel": sbatch.scancel,
    "squeue": squeue.squeue,
    "sacct": squeue.sacct,
    "scontrol": scontrol.scontrol,
    "sacctmgr": scontrol.sacctmgr,
    "sinfo": scontrol.sinfo,
}
ERRORS = {  # fault -> error before the command has any effect
    "timeout": TIMED_OUT,
    "limit": sbatch.SUBMIT_LIMIT,
    "refuse": "Batch job submission failed: Invalid partition name specified",
    "forget": "slurm_load_jobs error: Invalid job id specified",
}


def main(command: str, folder: str, words: Sequence[str]) -> int:
    """Execute one command and return its exit status."""
    cluster = ClusterState(Path(folder))
    try:
        sys.stdout.write(execute(cluster, command, words))
    except SlurmError as error:
        if str(error):  # empty if the real command has already printed its error
            print(f"{command}: error: {error}", file=sys.stderr)
        return 1
    return 0


def execute(cluster: ClusterState, command: str, words: Sequence[str]) -> str:
    """Return the output of the command; raise SlurmError if the command fails."""
    fault, number = cluster.take_fault(command)
    cluster.record_call(command, words)  # after take_fault: a reader of `calls` may remove the fault at once
    if fault == "slow":
        time.sleep(number)
    elif fault == "down":
        raise SlurmError(SLURMDBD if command.startswith("sacct") else UNREACHABLE)
    elif fault == "ignored":
        return ""
    elif fault in ERRORS:
        raise SlurmError(ERRORS[fault])
    real = cluster.real_commands()
    output = _run_real(command, real, words) if real else COMMANDS[command](cluster, words)
    return _alter(output, fault, number)


def _alter(output: str, fault: str, number: float) -> str:
    """Return the output as a fault after the command's effect changes it."""
    match fault:
        case "accept-then-timeout":
            raise SlurmError(TIMED_OUT)
        case "accept-then-hang":
            time.sleep(number)
        case "empty":
            return ""
        case "garbage":
            return "\x00\x17slurm_receive_msg|||\nunexpected|EOF\n" + output[::-1]
        case "partial":
            return "".join(output.splitlines(keepends=True)[::2])
        case "torn":
            return output[: len(output) // 2]
    return output


def _run_real(command: str, programs: str, words: Sequence[str]) -> str:
    """Return the output of the real Slurm's command."""
    done = subprocess.run([f"{programs}/{command}", *words], capture_output=True, text=True, errors="replace")
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise SlurmError("")
    return done.stdout
