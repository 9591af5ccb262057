"""The agent's command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from agent.attempt import run_attempt
from agent.program.command import WORKER
from agent.ranks import guard
from agent.worker import run_worker
from runfiles.packed import run_packed


def main() -> None:
    """Parse the command line and exit with the attempt's status."""
    if len(sys.argv) == 3 and sys.argv[1] == guard.OPTION:
        guard.main(sys.argv[2])
        return
    parser = argparse.ArgumentParser(prog="agent", description="Carry out an attempt of a run of kind program.")
    parser.add_argument("folder", help="a run folder that contains spec.json")
    parser.add_argument("--attempt", type=int, help="the attempt's number (default: the first free number)")
    parser.add_argument(WORKER, action="store_true", help="run one rank of torchrun or mpirun")
    parser.add_argument(
        "--pack", action="store_true", help="run the runs of a shared job, each by the command after --"
    )
    own, command = _split(sys.argv[1:])
    options = parser.parse_args(own)
    if options.pack:
        _exit(run_packed(Path(options.folder).absolute(), options.attempt, command))
    folder = Path(os.path.realpath(options.folder))  # a task of an array has a link to the run's folder
    _exit(run_worker(folder, options.attempt) if options.worker else run_attempt(folder, options.attempt))


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the agent's own words, and those after `--`: the command that starts one run of a shared job."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def _exit(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the heartbeat's thread may be inside a call to a file server that does not answer
