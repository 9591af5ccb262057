"""Carry stages out: side by side in lanes, each with its time limit; then run each failed test once more, alone."""

import fcntl
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tests.gate import processes, unstable
from tests.gate.stages import Failure, Stage

Lane = list[Stage]  # stages one after another, until one fails
Step = list[Lane]  # lanes side by side
MOST_UNSTABLE = 3
MOST_AGAIN = 10  # with more failures than this, none runs again
TAIL = 12  # lines that a stage that passed shows


@dataclass
class Gate:
    """One run of the gate in a checkout; its logs and records are in `.make/gate`."""

    folder: Path
    output: BinaryIO = sys.stdout.buffer
    faults: list[str] = field(default_factory=list)
    failed_tests: list[tuple[Stage, Failure]] = field(default_factory=list)
    times: list[tuple[str, float]] = field(default_factory=list)
    is_stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def logs(self) -> Path:
        return self.folder / ".make" / "gate"

    def run(self, steps: Iterable[Step]) -> bool:
        """Return whether every stage passed; a test that failed and passes alone does not fail the gate."""
        self.logs.parent.mkdir(exist_ok=True)
        with (self.logs.parent / "gate.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.show(f"Another gate runs in {self.folder}: wait for its end.")
                return False
            shutil.rmtree(self.logs, ignore_errors=True)
            self.logs.mkdir()
            return self._run(steps)

    def _run(self, steps: Iterable[Step]) -> bool:
        processes.adopt_orphans()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        began = time.monotonic()
        for step in steps:
            if not self.faults:
                self._step(step)
        self._run_again()
        self.show(self._summary(time.monotonic() - began))
        return not self.faults

    def _step(self, step: Step) -> None:
        with ThreadPoolExecutor(len(step)) as lanes:
            try:
                list(lanes.map(self._carry_out, step, [len(step) == 1] * len(step)))
            except BaseException:  # Ctrl-C: the lanes end when their commands do
                self.is_stopped = True
                processes.end_orphans()
                raise
        self._end_orphans()

    def _carry_out(self, lane: Lane, is_alone: bool) -> None:
        for stage in lane:
            if self.is_stopped or not self._passes(stage, is_alone=is_alone):
                break

    def _passes(self, stage: Stage, *, is_alone: bool) -> bool:
        """Carry a stage out; return whether the next stage of its lane can follow."""
        records, log = self.logs / _name(stage), self.logs / f"{_name(stage)}.log"
        self.show(f"== {stage.name}: at most {stage.limit_s:g} s; output in {log.relative_to(self.folder)} ==")
        command = stage.words(records.absolute())
        ended = self._carried_out(stage, command, log, records, show=self.show_bytes if is_alone else None)
        failures = {failure.test: failure for failure in reversed(stage.failures(records))}
        printed = log.read_text(errors="replace")
        with self._lock:
            self.times.append((stage.name, ended.seconds))
            self.failed_tests += [(stage, failure) for failure in failures.values()]
            if not is_alone:
                self.show(_shown(stage, printed, whole=ended.status != 0))
            if ended.status is None and self.is_stopped:
                self.show(f"{stage.name} was ended, because another stage failed")
            elif ended.status is None:
                running = stage.in_progress(records) or ["none known"]
                self.faults.append(f"{stage.name} did not end within {stage.limit_s:g} s")
                self.show("\n".join([self.faults[-1], "tests in progress:", *running]))
            elif ended.status and not (failures and stage.explains(ended.status, printed)):
                self.faults.append(f"{stage.name} failed (exit status {ended.status})")
            self.is_stopped |= bool(self.faults)  # no other run of it can make the gate pass: the other lanes end too
        return ended.status == 0 or (ended.status is not None and bool(failures))

    def _carried_out(
        self, stage: Stage, command: list[str], log: Path, records: Path, show: processes.Show | None = None
    ) -> processes.Ended:
        records.mkdir()
        folder = self.folder / stage.folder
        return processes.run(
            command,
            folder=folder,
            log=log,
            records=records,
            limit_s=stage.limit_s,
            show=show,
            is_stopped=lambda: self.is_stopped,
        )

    def _end_orphans(self) -> None:
        for line in processes.end_orphans():
            self.show(f"left running, ended now: {line[:200]}")

    def _run_again(self) -> None:
        """Run each failed test once more with nothing beside it, and list those that pass as unstable."""
        if self.faults or len(self.failed_tests) > MOST_AGAIN:
            self.faults += [f"{failure.test} failed" for _, failure in self.failed_tests]
            return
        passed = [
            failure for number, (stage, failure) in enumerate(self.failed_tests) if self._alone(number, stage, failure)
        ]
        if passed:
            self.show(unstable.listed(passed))
            unstable.record(self.folder, passed)
        if len(passed) > MOST_UNSTABLE:
            self.faults.append(f"{len(passed)} tests are unstable, at most {MOST_UNSTABLE} may be")

    def _alone(self, number: int, stage: Stage, failure: Failure) -> bool:
        """Return whether a test passes that runs alone."""
        records, log = self.logs / f"again-{number}", self.logs / f"again-{number}.log"
        ended = self._carried_out(stage, stage.again(failure.test, records.absolute()), log, records)
        self._end_orphans()
        if ended.status == 0 and stage.has_passed(failure.test, records):
            return True
        self.faults.append(f"{failure.test} failed twice, the second time alone")
        self.show(_shown(stage, log.read_text(errors="replace"), whole=True))
        return False

    def show(self, text: str) -> None:
        """Print lines."""
        self.show_bytes(f"{text}\n".encode())

    def show_bytes(self, printed: bytes) -> None:
        """Print the output of a stage as it is."""
        self.output.write(printed)
        self.output.flush()

    def _summary(self, seconds: float) -> str:
        lines = [f"{name:<24} {spent:6.0f} s" for name, spent in [*self.times, ("in all", seconds)]]
        end = ["The gate failed:", *(f"  {fault}" for fault in self.faults)] if self.faults else ["The gate passed."]
        return "\n".join(["", *lines, *end])


def _name(stage: Stage) -> str:
    return stage.name.replace(" ", "-")


def _shown(stage: Stage, printed: str, *, whole: bool) -> str:
    lines = printed.rstrip().splitlines()
    return "\n".join([f"== {stage.name} ==", *(lines if whole else lines[-TAIL:])])
