"""CheckpointCoordinator: save the run when a checkpoint is due, and pause the run when any rank received a signal.

Under a synchronous rule all ranks save at one step. If rank 0 serves a center, rank 0 alone decides, at its own step.
Every other rank saves its replica at its own step, when it receives the request at its next exchange with the center
(trainers/recovery/step_agreement.py).
"""

import time
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass

import torch
from torch.distributed import Store  # type: ignore[attr-defined]  # not in torch's __all__

from contract.folder.run_folder import RunFolder
from contract.spec.batch_schedule import BatchSchedule
from contract.spec.checkpoint import Checkpoint
from contract.spec.run import RunSpec
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory
from trainers.checkpoints.checkpoint_writer import CheckpointWriter
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import RankInfo
from trainers.recovery.initial_weights import load_initial_weights
from trainers.recovery.preemption_signal import PreemptionSignal
from trainers.recovery.resume import describe_run, resume
from trainers.recovery.step_agreement import StepAgreement
from trainers.replicas.comparison import ReplicaComparison
from trainers.replicas.data_digest import DataDigest
from trainers.training.state import TrainingState

REASON = "pause/reason"  # key in the ranks' store: which rank received which signal
SAVED = "pause/saved"  # key in the ranks' store: rank 0 has completed the checkpoint
PAUSE_POLL_S = 0.5  # how often rank 0 reads REASON, if it serves a center
PAUSE_TIMEOUT_S = 12.0  # how long a pause waits for replicas that take their own steps to save


class AttemptSuperseded(Exception):
    """A later attempt has begun, so this attempt must end."""


@dataclass
class CheckpointCoordinator:
    """Called before and after every step, on every rank."""

    run: RunSpec
    folder: RunFolder
    attempt: int
    rank_info: RankInfo
    state: TrainingState
    agreement: StepAgreement
    _: KW_ONLY
    preemption: PreemptionSignal
    report: Reporter
    store: Store
    device: torch.device
    watch: BackendCollectives
    data: DataDigest
    comparison: ReplicaComparison

    def __post_init__(self) -> None:
        self._directory = CheckpointDirectory(self.folder.checkpoints, retained=self.run.checkpoint.keep)
        self._writer = CheckpointWriter(
            self._directory,
            self.store,
            rank=self.rank_info.rank,
            world=self.rank_info.world,
            attempt=self.attempt,
            about=describe_run(self.run, self.data),
            departed_ranks=self.state.rule.departed_ranks if self._has_served_center else None,
        )
        self._batch_schedule = self.run.batch_schedule  # once, because a spec makes it anew each time
        self._saved_step = self._complete_step = 0
        self._saved_at = time.monotonic()
        self._pause_requested, self._polled_at = False, 0.0
        self._steps = 0  # of this attempt

    @property
    def _has_served_center(self) -> bool:
        """Whether rank 0 serves a center to ranks that take their own steps."""
        return not self.state.rule.is_synchronous

    def resume(self) -> None:
        """Load the newest undamaged checkpoint, or start from the beginning if there is none; compare the replicas."""
        found = resume(self._directory, self.run, self.rank_info, self.state, self.device, data=self.data)
        if self.run.initial_weights is not None and not (found and found.step):
            load_initial_weights(
                self.run.initial_weights, self.state, rank=self.rank_info.rank, world=self.rank_info.world
            )
        if found:
            self._saved_step, self._complete_step = self.state.step, found.step
            self.report.resumed(found.step, found.notes)
        else:
            self.report.began()
        self.comparison.compare(found.step if found else 0)

    def before_step(self) -> None:
        """Set this rank's requests for the end of the step that follows."""
        if self._steps == 0:
            self.state.check_storable()
        if self.preemption.reason and not self._pause_requested:
            self.store.set(REASON, f"{self.preemption.reason} to rank {self.rank_info.rank} on {self.rank_info.host}")
            self._pause_requested = True
        self.agreement.wants_pause = self._pause_requested
        self.agreement.wants_save = self.rank_info.rank == 0 and self._is_due(self.state.step + 1)
        self.agreement.wants_comparison = self.rank_info.rank == 0 and self.comparison.is_due()
        if self._has_served_center:
            self._decide_for_all()

    def after_step(self) -> bool:
        """Save and pause as the ranks agreed at the step just taken; return whether the run pauses."""
        self._report_result()
        self._steps += 1
        if self._steps == 1:
            self.state.check_storable()  # an optimizer makes its state in its first step
        if self.agreement.agreed_comparison:
            self.comparison.compare(self.state.step)
        if self.agreement.agreed_save or self.agreement.agreed_pause:
            self._save()
        if not self.agreement.agreed_pause:
            return False
        self._writer.wait()
        self._report_result()
        reason = self.store.get(REASON).decode() if self.rank_info.rank == 0 else ""
        self.report.paused(self.state.step, saved_step=self._complete_step, reason=reason)
        self._wait_for_all()
        return True

    def finish(self) -> None:
        """Compare the replicas, save if the spec asks for it, and wait until all checkpoints are on disk."""
        self.comparison.compare(self.state.step)
        if self.run.checkpoint.at_end and not (self._has_served_center and self.rank_info.rank):
            self._save()  # a rule may have no exchange at the last step, so a request cannot be relied upon
        self._writer.wait()
        self._report_result()

    def _decide_for_all(self) -> None:
        """Set the request of rank 0, which decides for all ranks; other ranks report a signal through the store."""
        if self.rank_info.rank:
            self.agreement.wants_pause = False
            return
        if not self._pause_requested and time.monotonic() - self._polled_at >= PAUSE_POLL_S:
            self._pause_requested, self._polled_at = self.store.check([REASON]), time.monotonic()
        if self._pause_requested:
            self._writer.timeout_s = PAUSE_TIMEOUT_S
        # one checkpoint at a time: a late rank must not mistake the next request for the current one
        self.agreement.wants_pause = self._pause_requested and not self._writer.is_busy
        self.agreement.step = self.state.step + 1

    def _wait_for_all(self) -> None:
        """Wait until everything is on disk, because Slurm ends a job step when its first rank exits."""
        if not self._has_served_center:
            self.watch.barrier()
        elif self.rank_info.rank == 0:
            self.store.set(SAVED, "")
        else:
            with suppress(RuntimeError):  # rank 0 has exited and closed the store
                self.store.wait([SAVED])

    def _is_due(self, step: int) -> bool:
        """Return whether rank 0, which alone knows when the last save was complete, saves after `step` steps."""
        since_s = time.monotonic() - self._saved_at
        if step == self.run.steps and self._has_served_center:
            return False  # other ranks still move the center; it is saved when all ranks have finished
        return not self._writer.is_busy and is_due(
            self.run.checkpoint, self._batch_schedule, step=step, saved_step=self._saved_step, since_s=since_s
        )

    def _save(self) -> None:
        if self._saved_step == self.state.step:
            return
        if self.rank_info.rank == 0 and (latest := self.folder.latest_attempt()) > self.attempt:
            raise AttemptSuperseded(f"attempt {latest} has begun, so attempt {self.attempt} ends")
        self.comparison.compare(self.state.step)  # replicas that differ are never stored
        is_replica = self._has_served_center and self.rank_info.rank > 0
        step = self.agreement.agreed_step if is_replica else self.state.step
        shared, own = {} if is_replica else self.state.shared_state(), self.state.rank_state(self.device)
        self.state.check_storable(shared, own)
        self.state.check_parts(shared, own)
        self._writer.save(step, shared, own)
        self._saved_step, self._saved_at = self.state.step, time.monotonic()

    def _report_result(self) -> None:
        """Report the result of the last save, once it is known."""
        if result := self._writer.take_result():
            self.report.saved(result)
            if result.error is None:
                self._complete_step = result.step


def is_due(when: Checkpoint, batch_schedule: BatchSchedule, *, step: int, saved_step: int, since_s: float) -> bool:
    """Return whether to save after `step` steps; the last save was at `saved_step`, `since_s` seconds ago."""
    if when.every_minutes is not None and since_s >= 60 * when.every_minutes:
        return True
    if when.every_steps is not None and step - saved_step >= when.every_steps:
        return True
    if when.every_epochs is not None:
        epoch, saved_epoch = batch_schedule.position(step).epoch, batch_schedule.position(saved_step).epoch
        if epoch // when.every_epochs > saved_epoch // when.every_epochs:
            return True
    return when.at_end and step == batch_schedule.steps
