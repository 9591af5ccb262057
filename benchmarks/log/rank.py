"""One rank: it logs a step after the other, and marks each step for which `log` returned true, until it is killed.

The marks are in shared memory, which outlives the process. The value of a step is the attempt that logged it.
"""

import mmap
import os
import sys

import bigbatch

MARK_BYTES = 1  # of each step: the last attempt for which `log` returned true


def main() -> None:
    """Log the steps from the first argument to the second one."""
    first, last, marks_path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    attempt = int(os.environ["BIGBATCH_ATTEMPT"])
    with open(marks_path, "r+b") as file, mmap.mmap(file.fileno(), 0) as marks:
        for step in range(first, last + 1):
            if bigbatch.log(step=step, loss=attempt):
                marks[step] = attempt
    while not bigbatch.finish():
        pass


if __name__ == "__main__":
    main()
