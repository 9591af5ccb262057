"""The loop: steps from where a run stands to its end, and an evaluation after every epoch."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch.distributed as dist

from contract import series
from contract.spec import RunSpec
from trainers.data.split import Batch, Split
from trainers.evaluation import average_statistics, evaluate, recalibrate
from trainers.feed import Feed
from trainers.keeper import Keeper
from trainers.report import Report
from trainers.schedules.schedule import Schedule
from trainers.state import State
from trainers.step import Step
from trainers.stopwatch import Stopwatch
from trainers.tasks.task import Task

EVALUATION_NUMBERS = 2**21  # of pixels at once, where the rank's training batch has fewer
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
    task: Task
    heldout: Split
    watch: Stopwatch
    report: Report
    keeper: Keeper | None = None  # none: nothing is saved, no signal heard

    def carry_out(self) -> bool:
        """Take every step that is left; return False when the ranks agreed to pause on the way."""
        course = self.run.course
        if self.state.step and (at := course.position(self.state.step)).step == 0:
            self._evaluate(epochs=at.epoch)  # a run is saved before the evaluation that ends an epoch
        while self.state.step < course.steps:
            start = course.position(self.state.step)
            for batch in self._fed(self.feed.epoch(start)):
                self.take(batch)
                if self.keeper and self.keeper.after():
                    return False
                if course.position(self.state.step).step == 0:
                    self._evaluate(epochs=start.epoch + 1)
        if self.keeper:
            self.keeper.finish()
        return True

    def _fed(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches; a step's time begins with waiting for its own."""
        while True:
            self.watch.start(series.COMPUTE_S)
            with self.watch.during(series.INPUT_S):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def take(self, batch: Batch) -> None:
        """Take one step and report it; the watch runs already."""
        rate = self._set_rate()
        if self.keeper:
            self.keeper.before()
        loss = self.step(batch)
        if self.state.average is not None:
            self.state.average.update_parameters(self.state.model)
        self.state.step += 1
        self._report(loss, rate, self.watch.stop())
        if not math.isfinite(loss):
            raise Diverged(f"at step {self.state.step} the loss is {loss}, with a learning rate of {rate:g}")

    def _set_rate(self) -> float:
        rate = self.schedule(self.run.course.epochs_done(self.state.step))
        for group in self.state.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _report(self, loss: float, rate: float, seconds: dict[str, float]) -> None:
        samples_per_s = self.run.batch / sum(seconds.values())
        values = {series.LOSS: loss, series.RATE: rate, series.SAMPLES_PER_S: samples_per_s}
        self.report.points(self.state.step, values | {name: seconds.get(name, 0.0) for name in SECONDS})

    def _evaluate(self, *, epochs: int) -> None:
        rule, model = self.state.rule, self.state.judged
        if epochs == self.run.epochs:
            rule.settle()
        if not rule.is_synchronous and dist.get_rank():
            return  # the first rank knows the center, and does not wait for the others
        batch = max(EVALUATION_NUMBERS // math.prod(self.run.data.shape), self.run.batch_per_rank)
        with rule.answer():
            if rule.replicas_differ:
                recalibrate(model, self.feed.sample(RECALIBRATION_SAMPLES))
            if rule.is_synchronous:
                average_statistics(model)
            workers, alone = self.run.data.workers, not rule.is_synchronous
            loss, accuracy = evaluate(model, self.heldout, self.task, batch=batch, workers=workers, alone=alone)
        values = {series.EPOCH: epochs, series.HELDOUT_LOSS: loss, series.HELDOUT_ACCURACY: accuracy}
        self.report.epoch(self.state.step, values)


SECONDS = (series.COMPUTE_S, series.COMMUNICATION_S, series.INPUT_S)
