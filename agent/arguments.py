"""The agent's command line."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from agent.attempt import run_attempt
from agent.program.command import WORKER
from agent.ranks import guard
from agent.worker import run_worker


def main() -> None:
    """Parse the command line and exit with the attempt's status."""
    if len(sys.argv) == 3 and sys.argv[1] == guard.OPTION:
        guard.main(sys.argv[2])
        return
    parser = argparse.ArgumentParser(prog="agent", description="Carry out an attempt of a run of kind program.")
    parser.add_argument("folder", help="a run folder that contains spec.json")
    parser.add_argument("--attempt", type=int, help="the attempt's number (default: the first free number)")
    parser.add_argument(WORKER, action="store_true", help="run one rank of torchrun or mpirun")
    options = parser.parse_args()
    folder = Path(os.path.realpath(options.folder))  # a task of an array has a link to the run's folder
    status = run_worker(folder, options.attempt) if options.worker else run_attempt(folder, options.attempt)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # the heartbeat's thread may be inside a call to a file server that does not answer
