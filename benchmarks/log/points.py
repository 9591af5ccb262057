"""A million points of four ranks, with 50 killed processes and a full disk, from the ranks to the database."""

import mmap
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from secrets import token_hex
from typing import Any

from benchmarks.scale.cluster import Testbed
from contract.folder.events import Points, Resumed, Started, event_reader
from contract.folder.run_folder import RunFolder
from contract.settings import Settings
from runfiles.event_lines import append_to
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from store.metrics import curves
from store.session import snapshot
from store.tables.runs import Run

RANKS, STEPS, KILLS = 4, 250_000, 50
DISK_MB, CHECKPOINT_EVERY, SEED = 256, 1_000, 14
AHEAD = 4_000  # steps that ranks may log beyond the one at which a rank is killed
FULL_AT = 25  # the kill before which the disk is full
FULL_S = 1.0  # for so long
ROOT = Path(__file__).parents[2]


class Marks:
    """For each rank and step the last attempt for which `log` returned true, in memory that outlives the ranks."""

    def __init__(self, folder: Path) -> None:
        self.paths = [folder / f"marks-{rank}" for rank in range(RANKS)]
        self.maps = []
        for path in self.paths:
            path.write_bytes(bytes(STEPS + 1))
            with path.open("r+b") as file:
                self.maps.append(mmap.mmap(file.fileno(), 0))

    def last_step(self, rank: int, attempt: int) -> int:
        """Return the last step that an attempt has marked, 0 without one."""
        return max(0, self.maps[rank].rfind(bytes([attempt])))


class Trial:
    """One run whose ranks are started, killed and started again."""

    def __init__(self, disk: Path, home: Path) -> None:
        home.mkdir()
        settings = Settings(home=home, runs=disk / "runs", token=token_hex())
        self.disk, self.marks, self.random = disk, Marks(home), random.Random(SEED)
        self.kills_while_logging = 0
        self.testbed = Testbed.create(settings, 1)
        self.testbed.add_runs(1, "log")
        submit_queued(self.testbed.site)
        with snapshot(self.testbed.site.engine) as db:
            self.run = db.get_one(Run, 1)
        self.folder: RunFolder = self.testbed.site.folder_of(self.run)

    def carry_out(self) -> dict[str, Any]:
        """Run all attempts while the scheduler ingests, and compare what is stored with the marks."""
        began, bases = time.monotonic(), [0]
        with self._ingesting():
            for attempt in range(1, KILLS + 2):
                bases.append(self._attempt(attempt, bases[-1]))
        took_s = time.monotonic() - began
        cursors: list[object] = []
        while cursors != (now := self._cursors()):
            cursors = now
            ingest(self.testbed.site)
        return self._compare(bases[:-1]) | {"seconds": round(took_s, 1)}

    def _attempt(self, attempt: int, base: int) -> int:
        """Run one attempt from `base`; kill a rank, and end the others as the agent does. Return the next base."""
        self._report_start(attempt)
        until = min(STEPS - AHEAD, STEPS * attempt // (KILLS + 1) + self.random.randrange(STEPS // KILLS // 2))
        last = until + AHEAD if attempt <= KILLS else STEPS
        ranks = [self._start_rank(rank, attempt, base, last) for rank in range(RANKS)]
        if attempt > KILLS:
            for process in ranks:
                assert process.wait() == 0
            return STEPS
        victim = self.random.randrange(RANKS)
        while self.marks.last_step(victim, attempt) < until:
            assert ranks[victim].poll() is None
            time.sleep(0.001)
        if attempt == FULL_AT:
            self._fill_disk()
        ranks[victim].send_signal(signal.SIGKILL)
        self.kills_while_logging += self.marks.last_step(victim, attempt) < last
        for process in ranks:
            process.kill()
            process.wait()
        done = min(self.marks.last_step(rank, attempt) for rank in range(RANKS))
        return max(base, done // CHECKPOINT_EVERY * CHECKPOINT_EVERY)

    def _start_rank(self, rank: int, attempt: int, base: int, last: int) -> subprocess.Popen[bytes]:
        given = {"BIGBATCH_RUN_FOLDER": str(self.folder.path), "BIGBATCH_ATTEMPT": str(attempt), "RANK": str(rank)}
        words = [sys.executable, "-S", "-m", "benchmarks.log.rank", str(base + 1), str(last)]
        environment = os.environ | given | {"PYTHONPATH": str(ROOT)}
        waits = ["waits"] if last < STEPS else []
        return subprocess.Popen([*words, str(self.marks.paths[rank]), *waits], env=environment)

    def _report_start(self, attempt: int) -> None:
        """Append an event as the agent does, which writes the same file as rank 0."""
        event = Started(
            attempt=attempt, at=time.time(), world=RANKS, hosts=["h"] * RANKS, device="cpu", steps=STEPS, versions={}
        )
        append_to(self.folder.events, event.model_dump_json().encode() + b"\n")

    def _fill_disk(self) -> None:
        """Let the disk be full for a while, to the last byte."""
        filler = self.disk / "filler"
        with filler.open("wb", buffering=0) as file:
            size = 1 << 20
            while size:
                try:
                    file.write(bytes(size))
                except OSError:
                    size //= 2
            time.sleep(FULL_S)
        filler.unlink()
        time.sleep(FULL_S)

    @contextmanager
    def _ingesting(self) -> Iterator[None]:
        """Run the scheduler's ingest tick twice a second."""
        stop = threading.Event()

        def repeat() -> None:
            while not stop.wait(0.5):
                ingest(self.testbed.site)

        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _cursors(self) -> list[object]:
        with snapshot(self.testbed.site.engine) as db:
            run = db.get_one(Run, self.run.id)
            return [run.cursor, run.rank_cursors]

    def _compare(self, bases: Sequence[int]) -> dict[str, Any]:
        written = [self._lines(rank) for rank in range(RANKS)]
        lost = doubled = stored = torn = 0
        for rank, events in enumerate(written):
            torn += self._path(rank).read_bytes().count(b"\n") - len(events) - (0 if rank else KILLS + 1)
            counts = Counter((event.attempt, event.step) for event in events if isinstance(event, Points))
            doubled += sum(count - 1 for count in counts.values())
            values = self._stored(rank)
            stored += len(values)
            # a later attempt may have logged the step without living long enough to mark it
            lost += sum(mark > values.get(step, -1) for step, mark in enumerate(self.marks.maps[rank][:]) if mark)
        return {
            "points_written": sum(isinstance(event, Points) for events in written for event in events),
            "points_stored": stored,
            "kills": KILLS,
            "kills_while_logging": self.kills_while_logging,
            "lost": lost,
            "doubled": doubled,
            "torn_lines": torn,
            "restarts": len(bases) - 1,
            "restarts_with_wrong_lost_steps": wrong_restarts(written[0], bases),
        }

    def _lines(self, rank: int) -> list[Points | Resumed]:
        """Return the events of a rank's file; a line that a kill or the full disk left incomplete is none."""
        events = []
        for line in self._path(rank).read_bytes().splitlines():
            if line.startswith(b"{") and line.endswith(b"}"):
                event = event_reader.validate_json(line)
                if isinstance(event, Points | Resumed):
                    events.append(event)
        return events

    def _path(self, rank: int) -> Path:
        return self.folder.path / "points" / f"rank-{rank}.jsonl" if rank else self.folder.events

    def _stored(self, rank: int) -> dict[int, float]:
        name = f"loss/rank-{rank}" if rank else "loss"
        with snapshot(self.testbed.site.engine) as db:
            steps, values = curves.of_run(db, self.run.id, [name], after=-1, limit=2 * STEPS)[0][name]
        return {step: value for step, value in zip(steps, values, strict=True) if value is not None}


def wrong_restarts(events: Sequence[Points | Resumed], bases: Sequence[int]) -> int:
    """Return the number of attempts whose reported lost steps are not those that the file shows."""
    last, wrong = 0, 0
    for attempt, part in groupby(events, key=lambda event: event.attempt):
        found = list(part)
        resumed = [event for event in found if isinstance(event, Resumed)]
        if attempt > 1:
            expected = [(bases[attempt - 1], last - bases[attempt - 1])]
            wrong += [(event.step, event.lost_steps) for event in resumed] != expected
        last = max(event.step for event in found if isinstance(event, Points))
    return wrong
