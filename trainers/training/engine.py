"""One rank of a training run, from the meeting of the ranks to their parting."""

from functools import partial

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore  # type: ignore[attr-defined]

from contract import metric_names as series
from contract.folder.run_folder import RunFolder
from contract.spec.resources import Slurm
from contract.spec.run import RunSpec
from trainers.build import (
    averages,
    collectives,
    data,
    losses,
    models,
    normalization,
    optimizers,
    rules,
    schedules,
    tasks,
)
from trainers.checkpoints import rng_state as randomness
from trainers.collectives.runners.timeout import Watch
from trainers.data.split import Split
from trainers.progress.rank_stats import Hearsay
from trainers.progress.reporter import Report
from trainers.progress.software_versions import versions
from trainers.progress.step_metrics import Measures
from trainers.progress.timer import Stopwatch
from trainers.ranks import cpu_binding_report as bindings
from trainers.ranks import device as devices
from trainers.ranks import rendezvous
from trainers.ranks.rank_info import Place
from trainers.recovery.checkpoint_coordinator import Keeper
from trainers.recovery.preemption_signal import Notice
from trainers.training.data_feed import Feed
from trainers.training.evaluation import Evaluation
from trainers.training.loop import Loop
from trainers.training.precision import LossScale, Precision
from trainers.training.state import State
from trainers.training.step import Step

EVALUATION_NUMBERS = 2**21  # at once, of pixels or of logits, where the rank's training batch has fewer
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def train(folder: RunFolder, attempt: int, place: Place, *, report: Report, notice: Notice) -> bool:
    """Meet the other ranks, train, and part; return False when the run paused on the way."""
    run = folder.read_spec()
    if place.world != run.resources.world:
        raise ValueError(f"the spec asks for {run.resources.world} ranks; {place.world} were started")
    device = devices.take(place)
    store = rendezvous.meet(folder, attempt, place, device=device)
    hosts = rendezvous.call_the_roll(folder, attempt, store, place)
    report.started(hosts, device=devices.name(device), steps=run.steps, versions=versions())
    if isinstance(run.resources, Slurm) and run.resources.many_core:
        threads, features = torch.get_num_threads(), run.resources.features
        bindings.tell(folder, attempt, place, store, threads=threads, constraint=features)
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
        watch=turning.evaluation.watch,
    )
    turning.keeper.resume()
    if not turning.state.rule.is_synchronous:
        turning.measures.hearsay = Hearsay(PrefixStore("hearsay", store), rank=place.rank, world=place.world)
    if not turning.carry_out():
        return False
    report.finished(run.steps)
    dist.destroy_process_group()
    return True


def loop(run: RunSpec, place: Place, *, device: torch.device, report: Report) -> Loop:
    """Put the parts that a spec chooses together: this rank's loop, before its first step."""
    stopwatch, precision = Stopwatch(device), Precision(DTYPES[run.precision], device)
    watch = Watch(timeout_s=run.collective.timeout_s)
    timed = partial(stopwatch.timed, series.COMMUNICATION_S)
    images, heldout = data.data(run.data, run.seed, bad_images=report.folder.bad_images)
    model = models.model(run).to(device)
    normalization.normalize(model, run.batch_norm, timed=timed)
    randomness.seed(run.seed, rank=place.rank, step=0)  # dropout's masks, alike on all ranks, would not average out
    scale = LossScale() if run.precision == "float16" else None
    optimizer = optimizers.optimizer(run, model, scale)
    nodes, kept = run.resources.nodes, report.kept
    allreduce = collectives.allreduce(run.collective, place.world, kept=kept, nodes=nodes, device=device)
    updating = partial(stopwatch.timed, series.UPDATE_S)
    rule = rules.rule(run, model, optimizer, allreduce=allreduce, timed=timed, updating=updating)
    batch = max(EVALUATION_NUMBERS // tasks.numbers(run), run.micro_batch or run.batch_per_rank)
    return Loop(
        run,
        State(model, optimizer, rule, scale, average=averages.average(run, model)),
        step=Step(model, losses.loss(run, model), rule, precision=precision, scale=scale),
        feed=feed(run, images, place, device=device),
        schedule=schedules.schedule(run),
        evaluation=Evaluation(
            heldout, tasks.task(run), batch, precision, device, workers=run.data.workers, watch=watch
        ),
        watch=stopwatch,
        measures=Measures(report, world=place.world if rule.is_synchronous else 1, device=device, watch=watch),
        report=report,
    )


def feed(run: RunSpec, split: Split, place: Place, *, device: torch.device) -> Feed:
    """What this rank trains on."""
    return Feed(
        split,
        run.course,
        seed=run.seed,
        place=place,
        device=device,
        micro_batch=run.micro_batch,
        workers=run.data.workers,
        channels_last=run.channels_last,
    )
