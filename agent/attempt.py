"""Carry out one attempt: claim it, start the ranks, observe them, and report how the attempt ends.

Exit status: 0 done; 1 failed; 2 the spec cannot be read; 3 another job owns the attempt, or a later attempt has begun;
4 paused; 143 (130) the ranks ended after SIGTERM (SIGINT), so the cluster knows the cause.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from agent.ending import FAILED, Ending, stopped_status
from agent.folder.events import EventWriter
from agent.folder.metric_reader import MetricReader, open_sources, watch_trackers
from agent.folder.rank_ends import RankEnd, first_failure, record_end, record_failure
from agent.folder.run_folder import RunFolder
from agent.program.inner_jobs import install_sbatch
from agent.program.parameters import write_files
from agent.program.work_folder import Abandoned, make_work_folder
from agent.ranks import processes
from agent.ranks.guard import Guard
from agent.ranks.output_pump import LAST_LINES_S, open_pump
from agent.ranks.placement import Placement, find_placement, is_slurm_job
from agent.ranks.rank_process import RankProcess, kill_left_behind
from agent.ranks.rendezvous import await_point, publish_point
from agent.ranks.signals import Signals
from agent.ranks.start import Start, marker_of
from agent.ranks.supervisor import Supervisor
from agent.sources import Sources
from agent.sources.trackers import TrackerWatch
from agent.stalls.watch import watch_stalls
from agent.system.recorder import Recorder, start_recorder
from runfiles.claim import ClaimRefused, claim_attempt
from runfiles.exit_status import REFUSED
from runfiles.heartbeat import start_heartbeat
from runfiles.job_name import own_local_job, slurm_job
from runfiles.rendezvous import Point

SPEC_UNREADABLE = 2
SPEC_WAIT_S = 60.0  # a shared file system may show the scheduler's files so late
ENVIRONMENT_S = 5.0  # for the record of the environment


class Attempt:
    """One attempt as this agent carries it out."""

    def __init__(self, folder: RunFolder, number: int, spec: dict[str, Any], signals: Signals) -> None:
        self.folder, self.number, self.spec, self.signals = folder, number, spec, signals
        self.placement: Placement = find_placement(spec)
        self.events = EventWriter(folder, number)
        self.supervisor = Supervisor(self.placement.host, signals, self._record)
        self.is_new = False  # this attempt has made the working folder
        self.sources: Sources | None = None  # of metrics; the first agent reads them
        self.trackers: TrackerWatch | None = None  # of other tools, as far as there are sources
        self.reader: MetricReader | None = None
        place = self.placement
        # on Slurm srun labels the lines of each task, and the agent of the launcher srun is one
        labels = place.world if place.is_local and place.world > 1 else 0
        self.pump = None if place.starts_launcher else open_pump(folder, number, spec, labels=labels)

    def run(self) -> int:
        """Start the ranks, wait for their end, report, and return the exit status."""
        (self.folder.path / "checkpoints").mkdir(exist_ok=True)
        write_files(self.spec.get("parameters") or {}, self.folder.path)
        if self.placement.is_first:
            self.folder.write_heartbeat(self.number)
            if not self._prepare():
                return stopped_status(self.signals) if self.signals.asks_for_end else FAILED
            self.sources = open_sources(
                self.folder, self.number, self.spec, self.events, ranks=self.placement.world, is_new=self.is_new
            )
            if self.sources:
                self.trackers = watch_trackers(self.folder, self.number, self.spec, self.events)
        point = self._meet()
        if point is None:
            return stopped_status(self.signals)
        guard = Guard(marker_of(self.folder, self.number)) if self.placement.is_local else None
        recorder = self._record_system()
        try:
            self._carry_out(point)
        finally:
            if guard:
                guard.dismiss()
            if recorder:
                recorder.stop()
            if self.placement.is_first:
                self._await_environment()
            kill_left_behind()
        if self.pump:
            self.pump.finish(self.signals.deadline)
        ending = Ending(self.folder, self.number, self.placement, signals=self.signals, supervisor=self.supervisor)
        return ending.report(self.events, self.reader) if self.placement.is_first else ending.status()

    def _prepare(self) -> bool:
        """Make what the ranks of all agents need in the run's folder; return whether it is there."""
        try:
            self.is_new = make_work_folder(self.spec, self.folder.path, self._goes_on)
        except Abandoned:
            return False
        except OSError as error:
            reason = f"rank 0 on {self.placement.host}: the working folder could not be made: {error}"
            print(f"bigbatch: {reason}", file=sys.stderr, flush=True)
            record_failure(self.folder, self.number, rank=0, host=self.placement.host, reason=reason)
            self.events.append("failed", rank=0, reason=reason, failure="unknown")
            return False
        try:
            install_sbatch(self.folder)
        except OSError as error:
            print(
                f"bigbatch: jobs that the program submits inherit its variables: {error}", file=sys.stderr, flush=True
            )
        return True

    def _goes_on(self) -> bool:
        """Show that the agent is alive while it copies; return whether it shall go on."""
        self.folder.write_heartbeat(self.number)
        return not self._drain()

    def _meet(self) -> Point | None:
        place = self.placement
        if place.is_first:
            return publish_point(self.folder, self.number, is_one_host=place.is_one_host)
        return await_point(self.folder, self.number, self._drain)

    def _record_system(self) -> Recorder | None:
        """Start the recorder of system metrics, in one agent of each node."""
        place = self.placement
        if place.ranks and all(rank.local_rank for rank in place.ranks):
            return None
        return start_recorder(
            self.folder.path, self.number, host=place.host, node=place.node, every_s=self.spec.get("system_metrics_s")
        )

    def _drain(self) -> bool:
        self.signals.drain()
        return self.signals.asks_for_end

    def _carry_out(self, point: Point) -> None:
        place, start = self.placement, Start(self.folder, self.number, self.spec, self.placement, point, self.pump)
        what = place.launcher if place.starts_launcher else ""
        started: list[RankProcess] = []
        failure = None
        try:
            started += start.launcher() if place.starts_launcher else start.ranks()
        except OSError as error:
            failure = error
        if self.pump:
            self.pump.start()
        if failure:
            print(f"bigbatch: a rank could not be started: {failure}", file=sys.stderr, flush=True)
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
        self.reader = MetricReader(self.sources, self.trackers) if self.sources and self.trackers else None
        self.supervisor.observe(started, what, stalls=stalls)

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
        said: Iterable[str] = ()
        if self.pump and end.is_failure:
            self.pump.await_end_of(end.rank, LAST_LINES_S)
            said = self.pump.last_words(end.rank)
        is_shared = self.placement.agents > 1 and not end.what
        record_end(self.folder, self.number, end, is_shared=is_shared, said=said, world=self.placement.world)
        if end.is_failure:
            print(f"bigbatch: {end.describe()}", file=sys.stderr, flush=True)


def run_attempt(path: Path, number: int | None) -> int:
    """Run an attempt, or the next free attempt if `number` is None; return the exit status."""
    signals = Signals()
    signals.listen()
    folder = RunFolder(path)
    spec = _read_spec(folder, timeout_s=SPEC_WAIT_S if number else 0.0)
    try:
        number = claim_attempt(folder, number, job=slurm_job() if is_slurm_job(spec) else own_local_job())
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
