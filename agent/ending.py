"""Ending: how an attempt ends, from the ends of its ranks; the agent of rank 0 awaits the other agents and reports."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

from agent.folder.events import EventWriter
from agent.folder.metric_reader import MetricReader
from agent.folder.rank_ends import STOPPED, first_failure, read_statuses
from agent.folder.run_folder import RunFolder
from agent.ranks.placement import Placement
from agent.ranks.signals import Signals
from agent.ranks.supervisor import Supervisor
from runfiles.exit_status import PAUSED, REFUSED
from runfiles.heartbeat import leave_text
from runfiles.outputs import record_outputs

FAILED = 1
CAUSE_WAIT_S = 3.0  # for the record of a rank on another host that failed first
OTHERS_S = 2.0  # for the exit statuses of ranks that other agents killed at the deadline
REPORT_S = 2.0  # for the report before Slurm kills the job
LATE_S = 60.0  # for the exit statuses of ranks whose launcher has ended
METRICS_S, LAST_METRICS_S = 60.0, 1.0  # for metrics that are not read yet; for those of an attempt that must end


class Ending:
    """The end of an attempt as one agent sees it, after its own ranks have ended."""

    def __init__(
        self, folder: RunFolder, number: int, placement: Placement, *, signals: Signals, supervisor: Supervisor
    ) -> None:
        self.folder, self.number, self.placement = folder, number, placement
        self.signals, self.supervisor = signals, supervisor

    def status(self) -> int:
        """Return the exit status of an agent that does not report: srun ends all others for any but 0.

        So the status is 0 after a request to end: the ranks of other agents may be saving still. Their ends are
        recorded, and the first agent waits for all of them.
        """
        if self.supervisor.superseded_by is not None:
            return REFUSED
        return FAILED if self._has_failed() else 0

    def report(self, events: EventWriter, reader: MetricReader | None) -> int:
        """Report the end of the whole attempt and return the exit status."""
        if self.supervisor.superseded_by is not None:
            later = self.supervisor.superseded_by
            print(leave_text(self.number, later), file=sys.stderr, flush=True)
            return REFUSED
        statuses = self._all_statuses()
        if reader:
            self._finish_metrics(reader, statuses)
        has_failed = bool(first_failure(self.folder, self.number)) or self._has_failed()
        if (self._has_pause_file() and not has_failed) or (
            PAUSED in statuses.values() and all(status in (0, PAUSED) for status in statuses.values())
        ):
            self._report_pause(events)
            return PAUSED
        if has_failed:
            self._report_failure(events)
            return FAILED
        if self.signals.asks_for_end or STOPPED in statuses.values():
            self._report_stop(events, statuses)
            return stopped_status(self.signals)
        return self._report_finish(events)

    def _report_stop(self, events: EventWriter, statuses: Mapping[int, int]) -> None:
        """Report that the ranks ended on request, if every rank did: else the rank that is missing has failed."""
        if self.signals.asks_for_end and len(statuses) >= self.placement.world:
            name = signal.Signals(stopped_status(self.signals) - 128).name
            events.append("stopped", step=events.last_step(), signal=name)

    def _report_finish(self, events: EventWriter) -> int:
        """Record the outputs and report the end; the record precedes the report, which names it."""
        outputs = self.folder.read_spec().get("outputs") or {}
        has_record = record_outputs(self.folder.path, self.number, outputs, hosts=len({*self.placement.hosts}))
        if self.supervisor.superseded_by is not None:  # a later attempt began meanwhile, and records its own outputs
            return REFUSED
        events.append("finished", step=events.last_step(), outputs=has_record)
        return 0

    def _all_statuses(self) -> dict[int, int]:
        """Return the status of every rank; wait for the other agents, whose ranks may go on after these ended."""
        mine = {end.rank: STOPPED if end.is_stop else end.status for end in self.supervisor.ends if not end.what}
        place, late_at = self.placement, time.monotonic() + LATE_S
        poll_s = 0.01
        while not self._must_report():
            statuses = {**read_statuses(self.folder, self.number), **mine}
            awaited = (0, PAUSED, STOPPED) if self.signals.asks_for_end else (0, PAUSED)
            if len(statuses) >= place.world or any(status not in awaited for status in statuses.values()):
                return statuses
            if place.agents == 1 and (not place.starts_launcher or time.monotonic() > late_at):
                break
            if any(end.is_failure for end in self.supervisor.ends):
                break
            self.signals.wait(poll_s)
            poll_s = min(2 * poll_s, 1.0)
        return {**read_statuses(self.folder, self.number), **mine}

    def _finish_metrics(self, reader: MetricReader, statuses: Mapping[int, int]) -> None:
        """Read what is left of the metrics: every line if all ranks ended well, as far as there is time."""
        is_well = all(status in (0, PAUSED) for status in statuses.values())
        deadline, limit_s = self.signals.deadline, METRICS_S
        if deadline is not None:
            limit_s = min(METRICS_S, max(LAST_METRICS_S, deadline - REPORT_S - time.monotonic()))
        reader.finish(limit_s, ranks=self.placement.world, is_well=is_well)

    def _must_report(self) -> bool:
        """Return whether no time is left to wait for other agents: they kill what still saves at the same deadline."""
        deadline = self.signals.deadline
        return deadline is not None and time.monotonic() > deadline + OTHERS_S

    def _has_failed(self) -> bool:
        return self.supervisor.has_stalled or any(end.is_failure for end in self.supervisor.ends)

    def _has_pause_file(self) -> bool:
        """Return whether `should_pause` wrote its file and no process here was killed, as before its checkpoint."""
        return self.folder.read(f"{self.number}.paused") is not None and not self.supervisor.has_killed

    def _report_pause(self, events: EventWriter) -> None:
        note = self._pause_note()
        step = note.get("step") if isinstance(note.get("step"), int) else 0
        step = step or events.last_step()
        name = signal.Signals(self.signals.received[0]).name if self.signals.received else note.get("signal")
        reason = f"{name} to rank 0" if name else "the program paused by itself"
        events.append("paused", step=step, saved_step=step, reason=reason, signal=name)

    def _pause_note(self) -> dict[str, Any]:
        """Return what `bigbatch.should_pause` wrote of the pause; empty without it."""
        try:
            note = json.loads(self.folder.read(f"{self.number}.paused") or "{}")
        except ValueError:
            return {}
        return note if isinstance(note, dict) else {}

    def _report_failure(self, events: EventWriter) -> None:
        """Report the first failure. Where ranks are elsewhere, wait for a record that explains the failure here.

        A rank that lost its connection to another rank explains nothing: the other rank's host may have failed, and
        the cluster will know.
        """
        until = time.monotonic() + (CAUSE_WAIT_S if self.placement.agents > 1 else 0.0)
        first = first_failure(self.folder, self.number)
        while (not first or first.get("echo") or first.get("kind") == "unknown") and time.monotonic() < until:
            time.sleep(0.05)
            first = first_failure(self.folder, self.number)
        if first and not first.get("echo"):
            kind, rank, reason = first.get("kind", "unknown"), first.get("rank", 0), first.get("reason", "")
            events.append("failed", rank=rank, reason=reason, failure=kind)


def stopped_status(signals: Signals) -> int:
    """Return the exit status of an agent whose ranks ended on request."""
    received = [number for number in signals.received if number != signal.SIGUSR2]
    return 128 + (received[0] if received else signal.SIGTERM)
