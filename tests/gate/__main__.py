"""Run the gate, or all tests, of this checkout: `python -m tests.gate [--ring gate|all]`."""

import argparse
import sys
from pathlib import Path

from tests.gate import unstable
from tests.gate.gate import Gate
from tests.gate.plan import steps

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Return 0 where every stage passed, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.gate", description=__doc__)
    parser.add_argument("--ring", choices=["gate", "all"], default="gate")
    ring = parser.parse_args().ring
    if number := unstable.count(ROOT):
        print(f"{unstable.LIST} lists unstable tests ({number}): mend, move or delete them.", flush=True)
    try:
        return 0 if Gate(ROOT).run(steps(ring)) else 1
    except KeyboardInterrupt:
        print("The gate was ended by a signal.", flush=True)
        return 130


if __name__ == "__main__":
    sys.exit(main())
