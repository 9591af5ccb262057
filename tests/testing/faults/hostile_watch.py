"""What is watched while hostile runs attack a service, and what counts as a finding."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

import httpx
import psutil

from tests.testing.service import Service

ANSWER_S, LATE_S = 1.0, 5.0  # at the 99th percentile; at most
MEMORY = {"api": 700 << 20, "worker": 700 << 20, "clock": 200 << 20, "agent": 300 << 20}  # bytes
LOG_BYTES_A_MINUTE = 1 << 20  # of all parts of the service
EXAMPLES = 3  # of each kind of finding, in the report


@dataclass
class Watch:
    """What was seen of a service."""

    service: Service
    secrets: Sequence[str]
    payload: Path  # exists only if something that a run planted was executed
    findings: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    answers_s: list[tuple[float, str]] = field(default_factory=list)
    largest: tuple[int, str] = (0, "")  # answer, in bytes
    lateness_s: float = 0.0
    memory: dict[str, int] = field(default_factory=dict)  # the most of each part, in bytes
    log_bytes_a_minute: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def find(self, kind: str, what: str) -> None:
        """Note a finding."""
        self.findings[kind].append(what)

    def note_answer(self, path: str, seconds: float, size_bytes: int) -> None:
        """Note how long an answer took, and its size."""
        self.answers_s.append((seconds, path))
        self.largest = max(self.largest, (size_bytes, path))

    def look_for_secrets(self, where: str, text: str) -> None:
        """Note a finding if a text has a secret."""
        if any(secret in text for secret in self.secrets):
            self.find("a secret", where)

    def run(self, over: threading.Event, folders: Mapping[int, Path]) -> None:
        """Watch the honest runs, whose folders these are, the processes, and what must not be executed."""
        written = {run_id: _Written(folder) for run_id, folder in folders.items()}
        while not over.wait(1.0):
            with suppress(httpx.HTTPError):  # the readers note it
                for run_id, one in written.items():
                    self._note_lateness(run_id, one)
            self._note_memory()
            if self.payload.exists():
                self.find("executed", str(self.payload))
                self.payload.unlink()

    def _note_lateness(self, run_id: int, written: "_Written") -> None:
        written.read()
        answer = self.service.ask("GET", f"/runs/{run_id}")
        if answer.status_code != 200:
            self.find("an honest run's page", f"{answer.status_code}: {answer.text[:200]}")
            return
        run = answer.json()
        waiting = [at for step, at in written.steps if step > run["step"]]
        written.forget(run["step"])
        if waiting:
            late_s = time.time() - min(waiting)
            self.lateness_s = max(self.lateness_s, late_s)
            if late_s > LATE_S:
                self.find("late points", f"run {run_id}: {late_s:.1f} s")

    def _note_memory(self) -> None:
        found = {name: process.pid for name, process in self.service.processes.items()}
        for name, pid in found.items():
            self._note_one(name, pid)
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                words = process.cmdline()
                if any(word.endswith("/agent") for word in words):
                    self._note_one("agent", process.pid)

    def _note_one(self, name: str, pid: int) -> None:
        with suppress(psutil.Error):
            self.memory[name] = max(self.memory.get(name, 0), psutil.Process(pid).memory_info().rss)

    def look_at_logs(self) -> None:
        """Note what the logs of the service have that they must not have, and how large they are."""
        size = 0
        for path in self.service.logs.glob("*.log*"):
            size += path.stat().st_size
            self.look_for_secrets(path.name, path.read_text(errors="replace"))
        minutes = (time.monotonic() - self.began) / 60
        if size > LOG_BYTES_A_MINUTE * max(1.0, minutes):
            self.find("long logs", f"{size:,} bytes in {minutes:.0f} minutes")
        self.log_bytes_a_minute = size / max(1.0, minutes)

    def report(self) -> str:
        """Return what was seen, with findings of bounds."""
        times = [seconds for seconds, _ in self.answers_s]
        p99 = quantiles(times, n=100)[-1] if len(times) > 1 else 0.0
        if p99 > ANSWER_S:
            slow = "; ".join(f"{path} {seconds:.1f} s" for seconds, path in sorted(self.answers_s)[-5:])
            self.find("slow answers", f"{p99:.2f} s at the 99th percentile: {slow}")
        for name, most in self.memory.items():
            if most > MEMORY.get(name, MEMORY["api"]):
                self.find("memory", f"{name}: {most >> 20} MB")
        memory = ", ".join(f"{name} {most >> 20} MB" for name, most in sorted(self.memory.items()))
        lines = [
            f"{len(times)} answers: median {median(times):.3f} s, p99 {p99:.3f} s, at most {max(times):.2f} s",
            f"largest answer: {self.largest[0]:,} bytes ({self.largest[1]})",
            f"points of honest runs: at most {self.lateness_s:.1f} s late; memory: {memory}",
            f"logs: {self.log_bytes_a_minute:,.0f} bytes a minute",
        ]
        for kind, found in self.findings.items():
            lines += [
                f"FINDING {kind} ({len(found)} times):",
                *(f"  {what}" for what in dict.fromkeys(found[:EXAMPLES])),
            ]
        return "\n".join([*lines, "" if self.findings else "no finding"]).rstrip()


class _Written:
    """The steps that an honest run has written and that are not stored yet, with their moments."""

    def __init__(self, folder: Path) -> None:
        self._path, self._read = folder / "events.jsonl", 0
        self.steps: list[tuple[int, float]] = []

    def read(self) -> None:
        """Read the new whole lines."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        events = [json.loads(line) for line in whole.splitlines()]
        self.steps += [(event["step"], event["at"]) for event in events if event["kind"] == "points"]

    def forget(self, step: int) -> None:
        """Forget the steps up to `step`, which are stored."""
        self.steps = [one for one in self.steps if one[0] > step]
