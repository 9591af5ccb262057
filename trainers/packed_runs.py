"""`python -m trainers.packed_runs FOLDER --attempt N -- COMMAND`: several runs in one Slurm job, one job step each.

FOLDER lists the runs' folders. COMMAND starts one run; {} stands for the run's folder. This program runs without torch;
runfiles/packed.py has what it does, and its exit status.
"""

import argparse
from pathlib import Path

from runfiles.packed import run_packed


def main() -> None:
    """Parse the command line and run the packed runs."""
    parser = argparse.ArgumentParser(prog="python -m trainers.packed_runs", description="Run the runs of one job.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--attempt", type=int, required=True)
    parser.add_argument("command", nargs="+", help="starts one run; {} stands for its folder")
    options = parser.parse_args()
    raise SystemExit(run_packed(options.folder.absolute(), options.attempt, options.command))


if __name__ == "__main__":
    main()
