"""Carry out one attempt: claim it, start the ranks, observe them, and report how the attempt ends.

Exit status: 0 done; 1 failed; 2 the spec cannot be read; 3 another job owns the attempt, or a later attempt has begun;
4 paused; 143 (130) the ranks ended after SIGTERM (SIGINT), so the cluster knows the cause.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from agent.folder.claim import ClaimRefused, claim_attempt, job_name
from agent.folder.events import EventWriter
from agent.folder.heartbeat import start_heartbeat
from agent.folder.metric_reader import MetricReader, open_sources
from agent.folder.rank_ends import PAUSED, RankEnd, first_failure, read_statuses, record_end
from agent.folder.run_folder import RunFolder
from agent.program.parameters import write_files
from agent.ranks import processes
from agent.ranks.guard import Guard
from agent.ranks.placement import Placement, find_placement, is_slurm_job
from agent.ranks.rank_process import RankProcess, kill_left_behind
from agent.ranks.rendezvous import Point, await_point, publish_point
from agent.ranks.signals import Signals
from agent.ranks.start import Start, marker_of
from agent.ranks.supervisor import Supervisor
from agent.sources import Sources
from agent.stalls.watch import watch_stalls

FAILED, SPEC_UNREADABLE, REFUSED = 1, 2, 3
SPEC_WAIT_S = 60.0  # a shared file system may show the scheduler's files so late
CAUSE_WAIT_S = 3.0  # for the record of a rank on another host that failed first
ENVIRONMENT_S = 5.0  # for the record of the environment
REPORT_S = 2.0  # for the report before Slurm kills the job
LATE_S = 60.0  # for the exit statuses of ranks whose launcher has ended


class Attempt:
    """One attempt as this agent carries it out."""

    def __init__(self, folder: RunFolder, number: int, spec: dict[str, Any], signals: Signals) -> None:
        self.folder, self.number, self.spec, self.signals = folder, number, spec, signals
        self.placement: Placement = find_placement(spec)
        self.events = EventWriter(folder, number)
        self.supervisor = Supervisor(self.placement.host, signals, self._record)
        self.sources: Sources | None = None  # of metrics; the first agent reads them

    def run(self) -> int:
        """Start the ranks, wait for their end, report, and return the exit status."""
        (self.folder.path / "checkpoints").mkdir(exist_ok=True)
        write_files(self.spec.get("parameters") or {}, self.folder.path)
        if self.placement.is_first:
            self.folder.touch(f"{self.number}.beat")
            self.sources = open_sources(self.folder, self.number, self.spec, self.events)
        point = self._meet()
        if point is None:
            return self._stopped_status()
        guard = Guard(marker_of(self.folder, self.number)) if self.placement.is_local else None
        try:
            self._carry_out(point)
        finally:
            if guard:
                guard.dismiss()
            if self.placement.is_first:
                self._await_environment()
            kill_left_behind()
        return self._report() if self.placement.is_first else self._status()

    def _meet(self) -> Point | None:
        place = self.placement
        if place.is_first:
            return publish_point(self.folder, self.number, is_local=place.is_local)
        return await_point(self.folder, self.number, self._drain)

    def _drain(self) -> bool:
        self.signals.drain()
        return self.signals.asks_for_end

    def _carry_out(self, point: Point) -> None:
        place, start = self.placement, Start(self.folder, self.number, self.spec, self.placement, point)
        what = place.launcher if place.starts_launcher else ""
        started: list[RankProcess] = []
        try:
            started += start.launcher() if place.starts_launcher else start.ranks()
        except OSError as error:
            print(f"bigbatch: a rank could not be started: {error}", file=sys.stderr, flush=True)
            first = place.agent * place.local_world if place.starts_launcher else place.ranks[0].rank
            self._record(RankEnd(first, place.host, 126, what=what))
            self.supervisor.ends.append(RankEnd(first, place.host, 126, what=what))
            return
        if place.is_first:
            self.events.append(
                "started",
                world=place.world,
                hosts=list(place.hosts),
                device="",
                steps=int(self.spec.get("steps", 0)),
                versions={},
            )
            start_heartbeat(self.folder, self.number, on_superseded=self.supervisor.supersede)
        pids = {process.rank: process.pid for process in started}
        stalls = None if what else watch_stalls(self.folder, self.number, self.spec, pids=pids, hosts=place.hosts)
        reader = MetricReader(self.sources) if self.sources else None
        self.supervisor.observe(started, what, stalls=stalls)
        if reader:
            reader.finish()

    def _await_environment(self) -> None:
        """Wait a moment for the record of the environment, which is written beside a program that ends at once."""
        until = time.monotonic() + ENVIRONMENT_S
        while (
            time.monotonic() < until
            and not self._drain()
            and self.folder.read(f"{self.number}.environment.json") is None
            and processes.descendants(os.getpid())
        ):
            time.sleep(0.02)

    def _record(self, end: RankEnd) -> None:
        """Record the end of a rank; a launcher's own failure counts only if none of its ranks recorded one."""
        if end.what and first_failure(self.folder, self.number):
            return
        is_shared = self.placement.agents > 1 and not end.what
        record_end(self.folder, self.number, end, is_shared=is_shared)
        if end.is_failure:
            print(f"bigbatch: {end.describe()}", file=sys.stderr, flush=True)

    def _status(self) -> int:
        """Return the exit status of an agent that does not report: srun ends all others for any but 0."""
        if self.supervisor.superseded_by is not None:
            return REFUSED
        if self._has_failed():
            return FAILED
        # a stopped rank of one agent must not end the others before they have paused
        return self._stopped_status() if self.signals.asks_for_end and not self._has_paused() else 0

    def _report(self) -> int:
        """Report the end of the whole attempt and return the exit status."""
        if self.supervisor.superseded_by is not None:
            later = self.supervisor.superseded_by
            print(f"attempt {self.number} leaves: attempt {later} has begun", file=sys.stderr, flush=True)
            return REFUSED
        statuses = self._all_statuses()
        has_failed = bool(first_failure(self.folder, self.number)) or self._has_failed()
        # `should_pause` writes the file before the program saves its checkpoint, which may fail
        if (self.folder.read(f"{self.number}.paused") is not None and not has_failed) or (
            PAUSED in statuses.values() and all(status in (0, PAUSED) for status in statuses.values())
        ):
            self._report_pause()
            return PAUSED
        if has_failed:
            self._report_failure()
            return FAILED
        if self.signals.asks_for_end or any(end.is_stop for end in self.supervisor.ends):
            return self._stopped_status()
        self.events.append("finished", step=self.events.last_step())
        return 0

    def _all_statuses(self) -> dict[int, int]:
        """Return the status of every rank; wait for the other agents, whose ranks may go on after these ended."""
        mine = {end.rank: -1 if end.is_stop else end.status for end in self.supervisor.ends if not end.what}
        place, late_at = self.placement, time.monotonic() + LATE_S
        poll_s = 0.01
        while not self._must_report(mine):
            others = read_statuses(self.folder, self.number)
            statuses = {**others, **mine}
            if len(statuses) >= place.world or any(status not in (0, PAUSED) for status in statuses.values()):
                return statuses
            if place.agents == 1 and (not place.starts_launcher or time.monotonic() > late_at):
                break
            if any(end.is_failure for end in self.supervisor.ends):
                break
            self.signals.wait(poll_s)
            poll_s = min(2 * poll_s, 1.0)
        return {**read_statuses(self.folder, self.number), **mine}

    def _must_report(self, mine: Mapping[int, int]) -> bool:
        """Return whether no time is left to wait for other agents: after a request to end, only a pause takes time."""
        deadline = self.signals.deadline
        if deadline is None:
            return False
        return PAUSED not in mine.values() or time.monotonic() > deadline - REPORT_S

    def _has_failed(self) -> bool:
        return self.supervisor.has_stalled or any(end.is_failure for end in self.supervisor.ends)

    def _has_paused(self) -> bool:
        has_file = self.folder.read(f"{self.number}.paused") is not None
        return has_file or any(end.status == PAUSED for end in self.supervisor.ends)

    def _report_pause(self) -> None:
        note = self._pause_note()
        step = note.get("step") if isinstance(note.get("step"), int) else 0
        step = step or self.events.last_step()
        name = signal.Signals(self.signals.received[0]).name if self.signals.received else note.get("signal")
        reason = f"{name} to rank 0" if name else "the program paused by itself"
        self.events.append("paused", step=step, saved_step=step, reason=reason, signal=name)

    def _pause_note(self) -> dict[str, Any]:
        """Return what `bigbatch.should_pause` wrote of the pause; empty without it."""
        try:
            note = json.loads(self.folder.read(f"{self.number}.paused") or "{}")
        except ValueError:
            return {}
        return note if isinstance(note, dict) else {}

    def _report_failure(self) -> None:
        """Report the first failure. Where ranks are elsewhere, wait for a record that explains the failure here.

        A rank that lost its connection to another rank explains nothing: the other rank's host may have failed, and
        the cluster will know.
        """
        until = time.monotonic() + (CAUSE_WAIT_S if self.placement.agents > 1 else 0.0)
        first = first_failure(self.folder, self.number)
        while (not first or first.get("kind") == "unknown") and time.monotonic() < until:
            time.sleep(0.05)
            first = first_failure(self.folder, self.number)
        if first and not first.get("echo"):
            kind, rank, reason = first.get("kind", "unknown"), first.get("rank", 0), first.get("reason", "")
            self.events.append("failed", rank=rank, reason=reason, failure=kind)

    def _stopped_status(self) -> int:
        received = [number for number in self.signals.received if number != signal.SIGUSR2]
        return 128 + (received[0] if received else signal.SIGTERM)


def run_attempt(path: Path, number: int | None) -> int:
    """Run an attempt, or the next free attempt if `number` is None; return the exit status."""
    signals = Signals()
    signals.listen()
    folder = RunFolder(path)
    spec = _read_spec(folder, timeout_s=SPEC_WAIT_S if number else 0.0)
    try:
        number = claim_attempt(folder, number, job=job_name(is_slurm=is_slurm_job(spec)))
    except ClaimRefused as refusal:
        _exit(REFUSED, str(refusal))
    processes.adopt_orphans()
    return Attempt(folder, number, spec, signals).run()


def _read_spec(folder: RunFolder, *, timeout_s: float) -> dict[str, Any]:
    until = time.monotonic() + timeout_s
    while not folder.has_spec() and time.monotonic() < until:
        time.sleep(0.5)
    try:
        return folder.read_spec()
    except (OSError, ValueError) as error:
        _exit(SPEC_UNREADABLE, f"the spec in {folder.path} cannot be carried out: {error}")


def _exit(status: int, message: str) -> NoReturn:
    sys.stderr.write(f"{' '.join(message.split())}\n")  # one write, because several agents may write at once
    raise SystemExit(status)
