"""`python -m tests.testing.faults.dying_worker POINT`: a worker that is killed when its launcher comes to a point."""

import sys

from scheduler.__main__ import main
from tests.testing.faults.kill_points import kill_at, watched

if __name__ == "__main__":
    with watched(kill_at(sys.argv[1])):
        main(["worker"])
