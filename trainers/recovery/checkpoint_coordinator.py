"""Keeps a run: saves it when that is due, and ends it when any rank was asked to pause.

Under a synchronous rule all ranks save at one step. Where rank 0 serves a center it alone decides, at a step of its
own; every other rank saves its replica, at its own step, when it next comes to the center and hears of it (wishes.py).
"""

import time
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass

import torch
from torch.distributed import Store  # type: ignore[attr-defined]

from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from trainers.checkpoints.checkpoint_directory import Shelf
from trainers.checkpoints.checkpoint_writer import Writer
from trainers.collectives.runners.timeout import Watch
from trainers.progress.reporter import Report
from trainers.ranks.rank_info import Place
from trainers.recovery.checkpoint_due import is_due
from trainers.recovery.preemption_signal import Notice
from trainers.recovery.resume import about, resume
from trainers.recovery.step_agreement import Wishes
from trainers.training.state import State

REASON = "pause/reason"  # in the ranks' store: who was asked, and by which signal
SAVED = "pause/saved"  # there too: rank 0 has what the others wrote
LOOK_S = 0.5  # how often rank 0 looks whether another was asked, where it hears no wishes
HURRY_S = 12.0  # for ranks that go their own ways to come and save when the run pauses


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
            left=self.state.rule.left if self._is_served else None,
        )
        self._saved_step = self._whole_step = 0
        self._saved_at = time.monotonic()
        self._is_asked, self._looked_at = False, 0.0

    @property
    def _is_served(self) -> bool:
        """Whether rank 0 serves a center to ranks that take their steps alone."""
        return not self.state.rule.is_synchronous

    def resume(self) -> None:
        """Go on from the newest good checkpoint, where there is one, else begin anew."""
        found = resume(self._shelf, self.run, self.place, self.state, self.device)
        if found:
            self._saved_step, self._whole_step = self.state.step, found.step
            self.report.resumed(found.step, found.notes)
        else:
            self.report.began()

    def before(self) -> None:
        """Wish for the end of the step that is about to be taken."""
        if self.notice.reason and not self._is_asked:
            self.store.set(REASON, f"{self.notice.reason} to rank {self.place.rank} on {self.place.host}")
            self._is_asked = True
        self.wishes.pause = self._is_asked
        self.wishes.save = self.place.rank == 0 and self._is_due(self.state.step + 1)
        if self._is_served:
            self._decide()

    def after(self) -> bool:
        """Carry out what the ranks agreed on at the step just taken; True when the run pauses here."""
        self._tell()
        if self.wishes.agreed_save or self.wishes.agreed_pause:
            self._save()
        if not self.wishes.agreed_pause:
            return False
        self._writer.wait()
        self._tell()
        reason = self.store.get(REASON).decode() if self.place.rank == 0 else ""
        self.report.paused(self.state.step, saved_step=self._whole_step, reason=reason)
        self._leave_together()
        return True

    def finish(self) -> None:
        """At the end of the run, wait until all that was saved is on disk."""
        if self.run.checkpoint.at_end and not (self._is_served and self.place.rank):
            self._save()  # a rule may have had no exchange at the last step, by which to hear of a wish
        self._writer.wait()
        self._tell()

    def _decide(self) -> None:
        """On rank 0, wish for all; on the others, who were told to pause through the store, wish nothing."""
        if self.place.rank:
            self.wishes.pause = False
            return
        if not self._is_asked and time.monotonic() - self._looked_at >= LOOK_S:
            self._is_asked, self._looked_at = self.store.check([REASON]), time.monotonic()
        if self._is_asked:
            self._writer.patience_s = HURRY_S
        # one checkpoint at a time: who comes late to one must not take its call for the next one's
        self.wishes.pause = self._is_asked and not self._writer.is_busy
        self.wishes.step = self.state.step + 1

    def _leave_together(self) -> None:
        """Slurm ends a step with the first rank that leaves it: leave when everything is on disk."""
        if not self._is_served:
            self.watch.barrier()
        elif self.place.rank == 0:
            self.store.set(SAVED, "")
        else:
            with suppress(RuntimeError):  # rank 0 has gone with the store
                self.store.wait([SAVED])

    def _is_due(self, step: int) -> bool:
        """Whether rank 0, which alone knows when the last checkpoint became whole, wants one after `step` steps."""
        since_s = time.monotonic() - self._saved_at
        if step == self.run.steps and self._is_served:
            return False  # others still move the center: it is saved when all have ended
        return not self._writer.is_busy and is_due(
            self.run.checkpoint, self.run.course, step=step, saved_step=self._saved_step, since_s=since_s
        )

    def _save(self) -> None:
        if self._saved_step == self.state.step:
            return
        if self.place.rank == 0 and (latest := self.folder.latest_attempt()) > self.attempt:
            raise Superseded(f"attempt {latest} has begun, so attempt {self.attempt} ends")
        is_worker = self._is_served and self.place.rank > 0
        step = self.wishes.agreed_step if is_worker else self.state.step
        shared = {} if is_worker else self.state.shared()
        self._writer.save(step, shared, self.state.alone(self.device))
        self._saved_step, self._saved_at = self.state.step, time.monotonic()

    def _tell(self) -> None:
        """Say what came of the last checkpoint, once it is known."""
        if outcome := self._writer.outcome():
            self.report.saved(outcome)
            if outcome.error is None:
                self._whole_step = outcome.step
