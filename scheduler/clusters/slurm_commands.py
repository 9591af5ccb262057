"""Slurm's commands, asked with a time limit and read without guessing."""

import os
import subprocess

from scheduler.clusters.cluster import DoubtError

PATIENCE_S = 20  # a controller that is down makes its clients wait for minutes


def ask(*command: str) -> str:
    """Run one of Slurm's commands and return what it printed; raise DoubtError on anything but success."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=_environment())
    except subprocess.TimeoutExpired as error:
        raise DoubtError(f"{command[0]} gave no answer within {PATIENCE_S} s") from error
    except OSError as error:
        raise DoubtError(f"{command[0]}: {error}") from error
    if done.returncode:
        raise DoubtError(f"{command[0]}: {words(done.stderr) or f'exit code {done.returncode}'}")
    return done.stdout


def rows(text: str) -> list[list[str]]:
    """Split the lines of an answer at their bars."""
    return [[field.strip() for field in line.split("|")] for line in text.splitlines() if line.strip()]


def words(stderr: str) -> str:
    """What Slurm said, without the name of the command on every line."""
    lines = [line.split("error:", 1)[-1].strip() for line in stderr.splitlines()]
    return "; ".join(line for line in lines if line)


def _environment() -> dict[str, str]:
    """Ours without the variables with which a site changes what its users see (SQUEUE_FORMAT and the like)."""
    shaped = ("SQUEUE_", "SACCT_", "SINFO_")
    return {name: value for name, value in os.environ.items() if not name.startswith(shaped)} | {"LC_ALL": "C"}
