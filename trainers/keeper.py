"""Keeps a run: saves it when that is due, and ends it at a common step when any rank was asked to pause."""

import time
from dataclasses import KW_ONLY, dataclass

import torch
from torch.distributed import Store  # type: ignore[attr-defined]

from contract.folder import RunFolder
from contract.spec import RunSpec
from trainers.checkpoints.shelf import Shelf
from trainers.checkpoints.writer import Writer
from trainers.collectives.watched import Watch
from trainers.due import is_due
from trainers.notice import Notice, leave_at_once
from trainers.place import Place
from trainers.report import Report
from trainers.resume import about, resume
from trainers.state import State
from trainers.wishes import Wishes

REASON = "pause/reason"  # in the ranks' store: who was asked, and by which signal


class Superseded(Exception):
    """A later attempt has begun: this one must not go on beside it."""


@dataclass
class Keeper:
    """Asked before and after every step, on every rank."""

    run: RunSpec
    folder: RunFolder
    attempt: int
    place: Place
    state: State
    wishes: Wishes
    _: KW_ONLY
    notice: Notice
    report: Report
    store: Store
    device: torch.device
    watch: Watch

    def __post_init__(self) -> None:
        self._shelf = Shelf(self.folder.checkpoints, keep=self.run.checkpoint.keep)
        self._writer = Writer(
            self._shelf,
            self.store,
            rank=self.place.rank,
            world=self.place.world,
            attempt=self.attempt,
            about=about(self.run),
        )
        self._is_kept = not self.state.rule.replicas_differ  # else there is no common step to save or to pause at
        self._saved_step = self._whole_step = 0
        self._saved_at = time.monotonic()

    def resume(self) -> None:
        """Go on from the newest good checkpoint, where there is one."""
        if not self._is_kept:
            return
        found = resume(self._shelf, self.run, self.place, self.state, self.device)
        if found:
            self._saved_step = self._whole_step = found.step
            self.report.resumed(found.step, found.notes)

    def before(self) -> None:
        """Wish for the end of the step that is about to be taken."""
        if not self._is_kept:
            if self.notice.reason == "SIGTERM":
                leave_at_once(self.notice.reason)
            return
        self.wishes.pause = self.notice.reason is not None
        self.wishes.save = self.place.rank == 0 and self._is_due(self.state.step + 1)
        if self.wishes.pause:
            self.store.set(REASON, f"{self.notice.reason} to rank {self.place.rank} on {self.place.host}")

    def after(self) -> bool:
        """Carry out what the ranks agreed on at the step just taken; True when the run pauses here."""
        self._tell()
        if self.wishes.agreed_save or self.wishes.agreed_pause:
            self._save()
        if not self.wishes.agreed_pause:
            return False
        self.finish()
        reason = self.store.get(REASON).decode() if self.place.rank == 0 else ""
        self.report.paused(self.state.step, saved_step=self._whole_step, reason=reason)
        self.watch.barrier()  # Slurm ends a step with the first rank that leaves it
        return True

    def finish(self) -> None:
        """Wait until all that was saved is on disk."""
        self._writer.wait()
        self._tell()

    def _is_due(self, step: int) -> bool:
        """Whether rank 0, which alone knows when the last checkpoint became whole, wants one after `step` steps."""
        since_s = time.monotonic() - self._saved_at
        return not self._writer.is_busy and is_due(
            self.run.checkpoint, self.run.course, step=step, saved_step=self._saved_step, since_s=since_s
        )

    def _save(self) -> None:
        if self._saved_step == self.state.step:
            return
        if self.place.rank == 0 and (latest := self.folder.latest_attempt()) > self.attempt:
            raise Superseded(f"attempt {latest} has begun, so attempt {self.attempt} ends")
        self._writer.save(self.state.step, self.state.shared(), self.state.alone(self.device))
        self._saved_step, self._saved_at = self.state.step, time.monotonic()

    def _tell(self) -> None:
        """Say what came of the last checkpoint, once it is known."""
        if outcome := self._writer.outcome():
            self.report.saved(outcome)
            if outcome.error is None:
                self._whole_step = outcome.step
