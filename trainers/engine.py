"""One rank of a training run, from the meeting of the ranks to their parting."""

from functools import partial

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore  # type: ignore[attr-defined]

from contract import series
from contract.folder import RunFolder
from contract.spec import RunSpec
from trainers import device as devices
from trainers import rendezvous
from trainers.build import averages, collectives, data, losses, models, optimizers, rules, schedules
from trainers.checkpoints import randomness
from trainers.feed import Feed
from trainers.keeper import Keeper
from trainers.loop import Loop
from trainers.notice import Notice
from trainers.place import Place
from trainers.report import Report
from trainers.state import State
from trainers.step import Step
from trainers.stopwatch import Stopwatch
from trainers.tasks.classification import Classification
from trainers.versions import versions


def train(folder: RunFolder, attempt: int, place: Place, *, report: Report, notice: Notice) -> bool:
    """Meet the other ranks, train, and part; return False when the run paused on the way."""
    run = folder.read_spec()
    if place.world != run.resources.world:
        raise ValueError(f"the spec asks for {run.resources.world} ranks; {place.world} were started")
    device = devices.take(place)
    store = rendezvous.meet(folder, attempt, place, device=device)
    hosts = rendezvous.hosts(store, place)
    report.started(hosts, device=devices.name(device), steps=run.steps, versions=versions())
    turning = loop(run, place, device=device, report=report)
    turning.keeper = Keeper(
        run,
        folder,
        attempt,
        place,
        turning.state,
        turning.step.wishes,
        notice=notice,
        report=report,
        store=PrefixStore("keep", store),
        device=device,
    )
    turning.keeper.resume()
    if not turning.carry_out():
        return False
    report.finished(run.steps)
    dist.destroy_process_group()
    return True


def loop(run: RunSpec, place: Place, *, device: torch.device, report: Report) -> Loop:
    """Put the parts that a spec chooses together: this rank's loop, before its first step."""
    watch, task = Stopwatch(device), Classification()
    images, heldout = data.data(run.data, run.seed)
    model = models.model(run).to(device)
    randomness.seed(run.seed, rank=place.rank, step=0)  # dropout's masks, alike on all ranks, would not average out
    optimizer = optimizers.optimizer(run, model)
    nodes, kept = run.resources.nodes, report.kept
    allreduce = collectives.allreduce(run.collective, place.world, kept=kept, nodes=nodes, device=device)
    timed = partial(watch.timed, series.COMMUNICATION_S)
    rule = rules.rule(run, model, optimizer, allreduce=allreduce, timed=timed)
    return Loop(
        run,
        State(model, optimizer, rule, average=averages.average(run, model)),
        step=Step(model, losses.loss(run, model), rule),
        feed=Feed(images, run.course, seed=run.seed, place=place, device=device, workers=run.data.workers),
        schedule=schedules.schedule(run),
        task=task,
        heldout=heldout,
        watch=watch,
        report=report,
    )
