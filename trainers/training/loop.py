"""TrainingLoop: take the remaining steps of a run, and evaluate the model after every epoch."""

import math
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

import torch.distributed as dist

from contract import metric_names
from contract.spec.batch_schedule import BatchSchedule, Position
from contract.spec.run import RunSpec
from trainers.data.split import DeviceBatch
from trainers.optimizers.gradient_check import GradientsNotFinite
from trainers.preconditioners.factors import FactorsNotFinite
from trainers.progress.reporter import Reporter
from trainers.progress.step_metrics import StepMeasurement, StepMetrics
from trainers.progress.timer import Timer
from trainers.recovery.checkpoint_coordinator import CheckpointCoordinator
from trainers.replicas.comparison import ReplicaComparison
from trainers.schedules import Schedule
from trainers.training.data_feed import DataFeed
from trainers.training.diverged import Diverged
from trainers.training.evaluation import Evaluation, recalibrate
from trainers.training.evaluation_diagnosis import OutputNotFinite
from trainers.training.loss_diagnosis import diagnose
from trainers.training.precision import Overflow
from trainers.training.state import TrainingState
from trainers.training.step import TrainingStep

RECALIBRATION_SAMPLES = 2048  # of this rank, at least, for the batch norm statistics of weights that were not trained


@dataclass
class TrainingLoop:
    """The loop of one rank, and the parts that it uses."""

    run: RunSpec
    state: TrainingState
    step: TrainingStep
    feed: DataFeed
    schedule: Schedule
    evaluation: Evaluation
    timer: Timer
    metrics: StepMetrics
    report: Reporter
    comparison: ReplicaComparison
    coordinator: CheckpointCoordinator | None = None  # None: nothing is saved, and signals are ignored
    _start_s: float = 0.0  # by the performance counter, as if all attempts had been one
    _lost: set[int] = field(default_factory=set)  # ranks without which this attempt has continued
    _batch_schedule: BatchSchedule = field(init=False)

    def __post_init__(self) -> None:
        self._batch_schedule = self.run.batch_schedule  # once, because a spec makes it anew each time

    def train(self) -> bool:
        """Take every remaining step; return False if the ranks agree to pause before the end."""
        self._start_s = time.perf_counter() - self.state.trained_s
        if self.state.step and (at := self._batch_schedule.position(self.state.step)).step == 0:
            self._evaluate(at.epoch - 1)  # a checkpoint precedes the evaluation that ends its epoch
        try:
            if self.run.evaluate_only:
                self._evaluate_weights()
                return True
            while self.state.step < self._batch_schedule.steps:
                if not self._train_epoch(self._batch_schedule.position(self.state.step)):
                    return False
            if self.coordinator:
                self.coordinator.finish()
        finally:
            self.metrics.close()
            self.feed.close()
        return True

    def _train_epoch(self, start: Position) -> bool:
        """Take the steps of an epoch from a position on and evaluate; return False if the run pauses."""
        with closing(self.feed.epoch_batches(start)) as batches:
            for number in range(start.step, self._batch_schedule.steps_in(start.epoch)):
                self.take_step(self._time_input(batches), Position(start.epoch, number))
                self._update_trained_time()
                self._report_lost_ranks()
                if self._save_or_pause():
                    return False
        self._evaluate(start.epoch)
        return True

    def _update_trained_time(self) -> None:
        self.state.trained_s = time.perf_counter() - self._start_s

    def _report_lost_ranks(self) -> None:
        """Report the ranks that were lost since the last step, if the rule can continue without them."""
        for rank, reason in self.state.rule.departed_ranks().items():
            if reason is not None and rank not in self._lost:
                self._lost.add(rank)
                self.report.lost(rank, self.state.step, reason)

    def _save_or_pause(self) -> bool:
        """Save if the ranks have agreed to; return whether the run pauses."""
        if self.coordinator is None:
            return False
        if self.step.agreement.agreed_save or self.step.agreement.agreed_pause:
            self.metrics.flush()  # a resumed run does not take these steps again, so they must be reported first
        return self.coordinator.after_step()

    def _time_input(self, batches: Iterator[DeviceBatch]) -> Iterator[DeviceBatch]:
        while True:
            with self.timer.measure(metric_names.INPUT_S):
                batch = next(batches)
            yield batch

    def take_step(self, batches: Iterator[DeviceBatch], at: Position) -> None:
        """Take one step with the next batches, and measure it.

        Raise Diverged if the loss is not finite, or the gradients are not and the step shows it.
        """
        self.timer.start(metric_names.COMPUTE_S)
        rate = self._set_rate()
        if self.coordinator:
            self.coordinator.before_step()
        passes = islice(batches, self.feed.passes_per_step(at.epoch))
        self.state.gradient_check.is_due = at.step + 1 == self._batch_schedule.steps_in(at.epoch)
        try:
            loss = self.step(passes, samples=self.feed.samples_per_step(at.epoch))
        except (FactorsNotFinite, GradientsNotFinite, Overflow) as error:
            raise Diverged(f"at step {self.state.step + 1}, with a learning rate of {rate:g}: {error}") from error
        if self.state.average is not None and math.isfinite(loss):
            self.state.average.update_parameters(self.state.model)
        self.state.step += 1
        values = {metric_names.LOSS: loss, metric_names.LEARNING_RATE: rate}
        self.metrics.add(
            StepMeasurement(self.state.step, self._batch_schedule.batch_in(at.epoch), values, self.timer.stop())
        )
        if not math.isfinite(loss):
            raise Diverged(self._explain_divergence(loss, rate, at))

    def _set_rate(self) -> float:
        rate = self.schedule(self._batch_schedule.epochs_done(self.state.step))
        for group in self.state.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _explain_divergence(self, loss: float, rate: float, at: Position) -> str:
        together = self.state.rule.is_synchronous and not self.state.rule.replicas_differ
        message = f"at step {self.state.step} the loss is {loss}, with a learning rate of {rate:g}"
        precision = self.evaluation.precision
        if not together:  # other ranks may not be available to make the step's batches again
            return f"{message}; {diagnose(self.state.model, (), precision=precision, together=False)}"
        self.metrics.flush()
        with closing(self.feed.epoch_batches(at)) as batches:
            numbers = islice(self.feed.numbers(at), self.feed.passes_per_step(at.epoch))
            repeated = zip(numbers, batches, strict=False)  # the batches of the epoch go on
            return f"{message}; {diagnose(self.state.model, repeated, precision=precision)}"

    def _evaluate_weights(self) -> None:
        """Evaluate the weights as they are, at step 0."""
        self.state.check_weights()
        values = self._measure(alone=False)
        self.report.epoch(0, values | {metric_names.EPOCH: 0})

    def _evaluate(self, epoch: int) -> None:
        rule, model = self.state.rule, self.state.evaluated_model
        self.metrics.flush()
        if epoch + 1 == self.run.epochs:
            rule.wait_for_all()
            self._update_trained_time()  # other ranks may have trained longer
            self._report_lost_ranks()
        if not rule.is_synchronous and dist.get_rank():
            return  # rank 0 has the center, and evaluates it alone
        with rule.evaluation_weights():
            self.state.check_weights()
            if rule.replicas_differ:
                recalibrate(model, self.feed.sample_batches(RECALIBRATION_SAMPLES))
            values = self._measure(alone=not rule.is_synchronous)
        values |= {metric_names.EPOCH: epoch + 1, metric_names.BATCH: self._batch_schedule.batch_in(epoch)}
        values |= {
            metric_names.TRAINED_S: self.state.trained_s,
            metric_names.PEAK_MEMORY_BYTES: self.metrics.peak_memory_bytes(),
        }
        self.report.epoch(self.state.step, values)

    def _measure(self, *, alone: bool) -> dict[str, float]:
        """Return the held-out loss and the other measures; raise Diverged if they are not finite."""
        try:
            return self.evaluation(self.state.evaluated_model, alone=alone)
        except OutputNotFinite as error:
            whose = "" if self.state.average is None else " of the weights' average"
            raise Diverged(f"at the evaluation{whose} after step {self.state.step} {error}") from error
