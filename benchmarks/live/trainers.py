"""The events files of many trainers, written by one process at the pace of all of them."""

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing.synchronize import Event
from pathlib import Path

VALUES = {"loss": 1.5, "learning_rate": 0.1, "samples_per_s": 800.0, "compute_s": 0.08}
HEAD_S = 0.5  # before the first step


def step_times(begins: float, rate: float, seconds: float) -> list[float]:
    """Return the moments, in seconds since 1970, at which the steps from 1 on are due."""
    return [begins + HEAD_S + number / rate for number in range(int(seconds * rate))]


def write_steps(files: Sequence[Path], due: Sequence[float], written: "list[float]", end: Event) -> None:
    """Append one line to each file at each moment; store in `written` when each step's last line was written.

    A writer that is late goes on at once: the lag is counted from the write, not from the moment that it was due.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(path.open("ab", buffering=0)) for path in files]
        for step, moment in enumerate(due, 1):
            if end.wait(max(0.0, moment - time.time())):
                return
            line = json.dumps({"kind": "points", "attempt": 1, "at": time.time(), "step": step, "values": VALUES})
            written[step - 1] = time.time()  # of the first line: the lag of the others is a little less
            for file in opened:
                file.write(f"{line}\n".encode())
