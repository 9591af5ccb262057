"""`python -m benchmarks.rank_process MODULE`: run the `main` of a benchmark's rank, then end the process at once."""

import os
import sys
from importlib import import_module


def main() -> None:
    """Run the rank; gloo's threads sometimes abort an interpreter that exits normally, so that this one does not."""
    import_module(sys.argv[1]).main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
