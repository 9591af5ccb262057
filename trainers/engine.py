"""One rank of a training run, from the first image to the last held-out accuracy."""

import math

import torch
import torch.distributed as dist

from contract import series
from contract.folder import RunFolder
from contract.spec import RunSpec
from trainers import device as devices
from trainers import rendezvous
from trainers.build import collectives, data, losses, models, optimizers, rules, schedules
from trainers.data import sampler
from trainers.data.split import Split
from trainers.evaluation import average_statistics, evaluate
from trainers.place import Place
from trainers.report import Report
from trainers.stopwatch import Stopwatch
from trainers.versions import versions

EVALUATION_NUMBERS = 2**21  # of pixels at once, where the rank's training batch has fewer


class Diverged(ArithmeticError):
    """The loss is no longer a finite number."""


def train(folder: RunFolder, attempt: int, place: Place, *, report: Report) -> None:
    """Meet the other ranks, train, and part."""
    run = folder.read_spec()
    if place.world != run.resources.world:
        raise ValueError(f"the spec asks for {run.resources.world} ranks; {place.world} were started")
    device = devices.take(place)
    store = rendezvous.meet(folder, attempt, place, device=device)
    hosts = rendezvous.hosts(store, place)
    report.started(hosts, device=devices.name(device), steps=run.steps, versions=versions())
    _Training(run, place, device=device, report=report).carry_out()
    report.finished(run.steps)
    dist.destroy_process_group()


class _Training:
    """The loop, and the parts that it turns."""

    def __init__(self, run: RunSpec, place: Place, *, device: torch.device, report: Report) -> None:
        self.run, self.place, self.device, self.report = run, place, device, report
        self.watch = Stopwatch(device)
        self.images, self.heldout = data.data(run.data, run.seed)
        self.model = models.model(run).to(device)
        self.loss = losses.loss(run, self.model)
        self.optimizer = optimizers.optimizer(run.optimizer, self.model)
        self.schedule = schedules.schedule(run)
        allreduce = collectives.allreduce(run.collective, place.world, nodes=run.resources.nodes)
        timed = self.watch.timed(series.COMMUNICATION_S, allreduce)
        self.rule = rules.rule(run, self.model, self.optimizer, allreduce=timed)

    def carry_out(self) -> None:
        step = 0
        for epoch in range(self.run.epochs):
            order_N = sampler.permutation(len(self.images), seed=self.run.seed, epoch=epoch)
            for index_B in sampler.slices(order_N, self.run.batch, rank=self.place.rank, world=self.place.world):
                step += 1
                self._step(step, index_B)
            self._evaluate(step, epochs=epoch + 1)

    def _step(self, step: int, index_B: torch.Tensor) -> None:
        self.watch.start(series.COMPUTE_S)
        with self.watch.during(series.INPUT_S):
            x_BCHW, y_B = self._batch(self.images, index_B)
        rate = self._set_rate(step)
        loss = self.loss(self.model(x_BCHW), y_B)
        loss.backward()  # type: ignore[no-untyped-call]
        mean_loss = self.rule.step(loss.detach()).item()
        self._report(step, mean_loss, rate, self.watch.stop())
        if not math.isfinite(mean_loss):
            raise Diverged(f"at step {step} the loss is {mean_loss}, with a learning rate of {rate:g}")

    def _batch(self, split: Split, index_B: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x_BCHW, y_B = split.batch(index_B)
        return x_BCHW.to(self.device), y_B.to(self.device)

    def _set_rate(self, step: int) -> float:
        rate = self.schedule(step - 1)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _report(self, step: int, loss: float, rate: float, seconds: dict[str, float]) -> None:
        samples_per_s = self.run.batch / sum(seconds.values())
        values = {series.LOSS: loss, series.RATE: rate, series.SAMPLES_PER_S: samples_per_s}
        self.report.points(step, values | {name: seconds.get(name, 0.0) for name in SECONDS})

    def _evaluate(self, step: int, *, epochs: int) -> None:
        average_statistics(self.model)
        batch = max(EVALUATION_NUMBERS // math.prod(self.run.data.shape), self.run.batch_per_rank)
        loss, accuracy = evaluate(self.model, self.heldout, batch=batch, device=self.device)
        values = {series.EPOCH: epochs, series.HELDOUT_LOSS: loss, series.HELDOUT_ACCURACY: accuracy}
        self.report.epoch(step, values)


SECONDS = (series.COMPUTE_S, series.COMMUNICATION_S, series.INPUT_S)
