"""`python -m trainers FOLDER [--attempt N]`: run an attempt by hand, or as a child process of the scheduler."""

import argparse
import os
import sys
from pathlib import Path

from contract.folder.run_folder import RunFolder
from trainers.job import run_attempt


def main() -> None:
    """Parse the command line and run the attempt."""
    parser = argparse.ArgumentParser(prog="python -m trainers", description="Run the run in a folder.")
    parser.add_argument("folder", type=Path, help="a run folder that contains spec.json")
    parser.add_argument("--attempt", type=int, help="the attempt's number (default: the first free number)")
    options = parser.parse_args()
    run_attempt(RunFolder(options.folder.absolute()), options.attempt)
    if "torch" in sys.modules:
        # this process was a rank: gloo's threads sometimes abort an interpreter that exits normally
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
