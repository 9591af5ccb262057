"""One rank: it logs a step after the other, and marks each step for which `log` returned true; then it may wait.

The marks are in shared memory, which outlives the process. The value of a step is the attempt that logged it.
"""

import mmap
import os
import sys
import time

import bigbatch

WAITS = 4  # arguments of a rank that is killed


def main() -> None:
    """Log the steps from the first argument to the second one; with a fourth argument, wait then to be killed."""
    first, last, marks_path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    attempt = int(os.environ["BIGBATCH_ATTEMPT"])
    with open(marks_path, "r+b") as file, mmap.mmap(file.fileno(), 0) as marks:
        for step in range(first, last + 1):
            if bigbatch.log(step=step, loss=attempt):
                marks[step] = attempt
    while not bigbatch.finish():
        pass
    while len(sys.argv) > WAITS:
        time.sleep(1)


if __name__ == "__main__":
    main()
