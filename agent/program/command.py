"""The command of a rank, in its container, and the commands of the launchers torchrun and mpirun."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.program.parameters import placeholder_values
from agent.program.placeholders import fill
from agent.ranks.placement import Placement
from runfiles.rendezvous import Point

WORKER = "--worker"
AGENT = Path(__file__).resolve().parents[1]


def program_words(spec: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the words of the user's program with its parameters; a text is a line, or several, for bash.

    A program that fails must not be hidden: by what reads its output (pipefail), or by the lines after it (-e).
    """
    values = placeholder_values(spec, folder)
    command = spec["command"]
    if isinstance(command, str):
        lines = command.strip().count("\n") + 1
        stops = ["-e"] if lines > 1 else []
        return ["bash", *stops, "-o", "pipefail", "-c", fill(command, values, is_shell=True)]
    return [fill(word, values, is_shell=False) for word in command]


def contain(words: Sequence[str], spec: Mapping[str, Any], folder: Path, *, working_folder: str) -> list[str]:
    """Return the words after the program Apptainer, which setup_script.py finds; unchanged without a container."""
    container = (spec.get("environment") or {}).get("container")
    if not container or container.get("kind") != "apptainer":
        return list(words)
    # the run folder's parent has the code snapshots and the tools as well
    binds = [str(folder.parent), working_folder, *container.get("mounts", ())]
    options = [word for place in dict.fromkeys(binds) for word in ("--bind", place)]
    gpus = ["--nv"] if container.get("gpus") else []
    return ["exec", *gpus, *options, "--pwd", working_folder, container["image"], *words]


def torchrun_words(placement: Placement, point: Point, folder: Path, attempt: int) -> list[str]:
    """Return the words of torchrun on one node; its ranks are workers of this agent."""
    return [
        "torchrun",
        f"--nnodes={placement.agents}",
        f"--nproc-per-node={placement.local_world}",
        f"--node-rank={placement.node}",
        f"--master-addr={point.host}",
        f"--master-port={point.port}",
        "--max-restarts=0",
        "--no-python",
        *("python3", "-I", "-S", "-u", str(AGENT)),  # in a container this agent's own Python may not exist
        *worker_words(folder, attempt),
    ]


def mpirun_words(placement: Placement, folder: Path, attempt: int) -> list[str]:
    """Return the words of mpirun; its ranks are workers of this agent."""
    agent = [sys.executable, "-I", "-S", "-u", str(AGENT)]
    return ["mpirun", "-n", str(placement.world), *agent, *worker_words(folder, attempt)]


def worker_words(folder: Path, attempt: int) -> list[str]:
    """Return the agent's arguments for one rank of a launcher."""
    return [str(folder), "--attempt", str(attempt), WORKER]
