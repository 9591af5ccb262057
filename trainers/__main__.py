"""`python -m trainers FOLDER [--attempt N]`: carry a run out by hand, or as a scheduler's child."""

import argparse
import os
import sys
from pathlib import Path

from contract.folder.run_folder import RunFolder
from trainers.job import carry_out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trainers", description="Carry out the run in a folder.")
    parser.add_argument("folder", type=Path, help="a run folder, with spec.json inside")
    parser.add_argument("--attempt", type=int, help="the attempt's number (default: the first that is free)")
    asked = parser.parse_args()
    carry_out(RunFolder(asked.folder.absolute()), asked.attempt)
    if "torch" in sys.modules:
        # this was a rank, and gloo's threads now and then abort an interpreter that ends in good order
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
