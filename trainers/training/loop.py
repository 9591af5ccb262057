"""The loop: steps from where a run stands to its end, and an evaluation after every epoch."""

import math
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

import torch.distributed as dist

from contract import metric_names as series
from contract.spec.batch_schedule import Position
from contract.spec.run import RunSpec
from trainers.data.split import Placed
from trainers.progress.reporter import Report
from trainers.progress.step_metrics import Measured, Measures
from trainers.progress.timer import Stopwatch
from trainers.recovery.checkpoint_coordinator import Keeper
from trainers.schedules.schedule import Schedule
from trainers.training.data_feed import Feed
from trainers.training.evaluation import Evaluation, recalibrate
from trainers.training.loss_diagnosis import diagnose
from trainers.training.state import State
from trainers.training.step import Step

RECALIBRATION_SAMPLES = 2048  # at least, of a rank's own, for the statistics of weights that no batch has gone through


class Diverged(ArithmeticError):
    """The loss is no longer a finite number."""


@dataclass
class Loop:
    """What turns, and the parts that it turns."""

    run: RunSpec
    state: State
    step: Step
    feed: Feed
    schedule: Schedule
    evaluation: Evaluation
    watch: Stopwatch
    measures: Measures
    report: Report
    keeper: Keeper | None = None  # none: nothing is saved, no signal heard
    _began_s: float = 0.0  # by the clock, had all attempts been one
    _lost: set[int] = field(default_factory=set)  # ranks that this attempt went on without

    def carry_out(self) -> bool:
        """Take every step that is left; return False when the ranks agreed to pause on the way."""
        course, self._began_s = self.run.course, time.perf_counter() - self.state.trained_s
        if self.state.step and (at := course.position(self.state.step)).step == 0:
            self._evaluate(at.epoch - 1)  # a run is saved before the evaluation that ends an epoch
        try:
            while self.state.step < course.steps:
                start = course.position(self.state.step)
                with closing(self.feed.epoch(start)) as batches:
                    for number in range(start.step, course.steps_in(start.epoch)):
                        self.take(self._waited_for(batches), Position(start.epoch, number))
                        self._look_at_clock()
                        self._note_lost()
                        if self._pauses():
                            return False
                self._evaluate(start.epoch)
            if self.keeper:
                self.keeper.finish()
        finally:
            self.measures.close()
        return True

    def _look_at_clock(self) -> None:
        self.state.trained_s = time.perf_counter() - self._began_s

    def _note_lost(self) -> None:
        """Where replicas survive each other: what a reader must know is that fewer have trained."""
        for rank, reason in self.state.rule.left().items():
            if reason is not None and rank not in self._lost:
                self._lost.add(rank)
                self.report.lost(rank, self.state.step, reason)

    def _pauses(self) -> bool:
        """Let the run be saved if that was agreed on; True when it pauses here."""
        if self.keeper is None:
            return False
        if self.step.wishes.agreed_save or self.step.wishes.agreed_pause:
            self.measures.tell()  # what a resumed run does not take again must have been said
        return self.keeper.after()

    def _waited_for(self, batches: Iterator[Placed]) -> Iterator[Placed]:
        while True:
            with self.watch.during(series.INPUT_S):
                batch = next(batches)
            yield batch

    def take(self, batches: Iterator[Placed], at: Position) -> None:
        """Take one step, by the next of `batches`, and measure it."""
        self.watch.start(series.COMPUTE_S)
        rate = self._set_rate()
        if self.keeper:
            self.keeper.before()
        passes = islice(batches, self.feed.passes(at.epoch))
        loss = self.step(passes, samples=self.feed.share(at.epoch))
        if self.state.average is not None and math.isfinite(loss):
            self.state.average.update_parameters(self.state.model)
        self.state.step += 1
        values = {series.LOSS: loss, series.RATE: rate}
        self.measures.add(Measured(self.state.step, self.run.course.batch_in(at.epoch), values, self.watch.stop()))
        if not math.isfinite(loss):
            raise Diverged(self._why(loss, rate, at))

    def _set_rate(self) -> float:
        rate = self.schedule(self.run.course.epochs_done(self.state.step))
        for group in self.state.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _why(self, loss: float, rate: float, at: Position) -> str:
        together = self.state.rule.is_synchronous and not self.state.rule.replicas_differ
        told = f"at step {self.state.step} the loss is {loss}, with a learning rate of {rate:g}"
        if not together:  # the others may not be there to make the step's batches again
            return f"{told}; {diagnose(self.state.model, (), together=False)}"
        self.measures.tell()
        with closing(self.feed.epoch(at)) as batches:
            again = islice(batches, self.feed.passes(at.epoch))
            return f"{told}; {diagnose(self.state.model, again)}"

    def _evaluate(self, epoch: int) -> None:
        rule, model = self.state.rule, self.state.judged
        self.measures.tell()
        if epoch + 1 == self.run.epochs:
            rule.settle()
            self._look_at_clock()  # others may have trained on
            self._note_lost()
        if not rule.is_synchronous and dist.get_rank():
            return  # the first rank knows the center, and does not wait for the others
        with rule.answer():
            if rule.replicas_differ:
                recalibrate(model, self.feed.sample(RECALIBRATION_SAMPLES))
            values = self.evaluation(model, alone=not rule.is_synchronous)
        values |= {series.EPOCH: epoch + 1, series.BATCH: self.run.course.batch_in(epoch)}
        values |= {series.TRAINED_S: self.state.trained_s, series.PEAK_MEMORY_BYTES: self.measures.peak_memory_bytes()}
        self.report.epoch(self.state.step, values)
