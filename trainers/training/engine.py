"""Train one rank of a run, from the rendezvous of the ranks to the end of their process group."""

from collections.abc import Callable
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]  # not in torch's __all__

from contract import metric_names
from contract.folder.run_folder import RunFolder
from contract.spec.choices.optimizers import ImportedOptimizer
from contract.spec.resources import Slurm
from contract.spec.run import RunSpec
from trainers.build.averages import build_average
from trainers.build.check_net import check_net
from trainers.build.collectives import build_allreduce
from trainers.build.data import build_data
from trainers.build.losses import build_loss
from trainers.build.models import build_model
from trainers.build.normalization import set_up_batch_norm
from trainers.build.optimizers import build_loss_scale, build_optimizer, note_on_skip
from trainers.build.preconditioners import build_preconditioner, describe_preconditioner
from trainers.build.replicas import build_comparison, build_data_comparers
from trainers.build.rules import build_rule
from trainers.build.schedules import build_schedule
from trainers.build.tasks import build_metrics, build_task, measures_of_loss, numbers_per_sample
from trainers.build.tensor import Placement, build_placement, hosts_of_replicas, put_on_mesh, rank_among_replicas
from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.data.float_types import FloatTypes
from trainers.data.loader import Loader
from trainers.data.split import UNCHANGED, Split
from trainers.generators.seeds import draw_alike, seed_generators
from trainers.optimizers.gradient_check import GradientCheck
from trainers.progress.rank_stats import RankStats
from trainers.progress.reporter import Reporter
from trainers.progress.software_versions import read_versions
from trainers.progress.step_metrics import StepMetrics
from trainers.progress.timer import Timer
from trainers.ranks.cpu_binding_report import report_binding
from trainers.ranks.device import device_name, requested_gpus, select_device
from trainers.ranks.loader_workers import count_workers
from trainers.ranks.rank_info import RankInfo
from trainers.ranks.rendezvous import exchange_hosts, join_process_group
from trainers.recovery.checkpoint_coordinator import CheckpointCoordinator
from trainers.recovery.preemption_signal import PreemptionSignal
from trainers.replicas.data_digest import DataDigest, compare_data, digest_data
from trainers.tensor.dense_state import DenseState
from trainers.training.data_feed import DataFeed
from trainers.training.evaluation import Evaluation
from trainers.training.loop import TrainingLoop
from trainers.training.placement import compile_net, place, set_kernels
from trainers.training.precision import Precision
from trainers.training.state import TrainingState
from trainers.training.step import TrainingStep

EVALUATION_NUMBERS = 2**21  # pixels or logits of an evaluation batch, unless the rank's training batch has more
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def train(
    folder: RunFolder, attempt: int, rank_info: RankInfo, *, report: Reporter, preemption: PreemptionSignal
) -> bool:
    """Train this rank together with all other ranks; return False if the run pauses before its end."""
    run = folder.read_spec()
    if rank_info.world != run.resources.world:
        raise ValueError(f"the spec asks for {run.resources.world} ranks; {rank_info.world} were started")
    chosen = "cpu" if run.tensor else run.device  # the collectives inside the net run on CPUs
    device = select_device(rank_info, requested_gpus(run.resources, chosen), device=chosen)
    store = join_process_group(folder, attempt, rank_info, device=device)
    hosts = exchange_hosts(folder, attempt, store, rank_info)
    report.started(hosts, device=device_name(device), steps=run.steps, versions=read_versions())
    if isinstance(run.resources, Slurm) and run.resources.many_core:
        threads, features = torch.get_num_threads(), run.resources.features
        report_binding(folder, attempt, rank_info, store, threads=threads, constraint=features)
    loop = make_loop(run, rank_info, device=device, report=report)
    data = digest_data(loop.feed.split, loop.evaluation.heldout, floats=run.compare_replicas)
    compare_data(data, build_data_comparers(run, rank_info))
    loop.coordinator = _make_coordinator(
        loop, folder, attempt, rank_info, preemption=preemption, store=store, device=device, data=data
    )
    loop.coordinator.resume()
    if not loop.state.rule.is_synchronous:
        loop.metrics.rank_stats = RankStats(
            PrefixStore("rank_stats", store), rank=rank_info.rank, world=rank_info.world
        )
    if not loop.train():
        return False
    report.finished(run)
    dist.destroy_process_group()
    return True


def make_loop(run: RunSpec, rank_info: RankInfo, *, device: torch.device, report: Reporter) -> TrainingLoop:
    """Build the parts that a spec chooses, in the same order on all ranks, and return this rank's training loop."""
    loader = _start_loader(run, rank_info, device)  # first, so that the workers start while this rank builds its parts
    timer, precision = Timer(device), Precision(DTYPES[run.precision], device)
    watch = BackendCollectives(timeout_s=run.collective.timeout_s)
    train_split, heldout = build_data(
        run.data, run.seed, augmentation=run.augmentation, bad_images=report.folder.bad_images
    )
    placement = build_placement(run, rank_info, timed=partial(timer.wrap, metric_names.COMMUNICATION_S))
    state = _make_state(run, rank_info, placement, device=device, report=report, timer=timer)
    model, rule, mesh = state.model, state.rule, placement.mesh if placement else None
    types = FloatTypes.of(model)
    data_rank = rank_among_replicas(rank_info, placement, replicas=run.replicas)
    evaluation = Evaluation(
        heldout,
        build_task(run, device, mesh),
        _evaluation_batch(run),
        precision,
        device,
        loader=loader,
        watch=watch,
        metrics=build_metrics(run),
        channels_last=run.channels_last,
        types=types,
        measures=partial(measures_of_loss, run),
        part=(data_rank.rank, data_rank.world) if placement else None,
    )
    evaluates = rule.is_synchronous or rank_info.rank == 0
    load_evaluation = partial(evaluation.load_ahead, alone=not rule.is_synchronous) if evaluates else None
    feed = make_feed(
        run, train_split, data_rank, device=device, types=types, loader=loader, before_next=load_evaluation
    )
    world = rank_info.world if rule.is_synchronous else 1
    return TrainingLoop(
        run,
        state,
        step=TrainingStep(model, build_loss(run, model, mesh), rule, precision=precision, scale=state.scale),
        feed=feed,
        schedule=build_schedule(run),
        evaluation=evaluation,
        timer=timer,
        metrics=_make_metrics(run, report, world=world, device=device, watch=watch),
        report=report,
        comparison=build_comparison(run, state, rank_info, placement),
    )


def _start_loader(run: RunSpec, rank_info: RankInfo, device: torch.device) -> Loader:
    workers = count_workers(run.data.workers, rank_info, is_cpu=device.type == "cpu")
    loader = Loader(workers, pins=device.type == "cuda")
    loader.start()
    return loader


def make_feed(
    run: RunSpec,
    split: Split,
    rank_info: RankInfo,
    *,
    device: torch.device,
    types: FloatTypes = UNCHANGED,
    loader: Loader | None = None,
    before_next: Callable[[], None] | None = None,
) -> DataFeed:
    """Return the feed of this rank's training samples, converted to the types of the net."""
    return DataFeed(
        split,
        run.batch_schedule,
        seed=run.seed,
        rank_info=rank_info,
        device=device,
        micro_batch=run.micro_batch,
        loader=loader,
        before_next=before_next,
        channels_last=run.channels_last,
        types=types,
    )


def _make_metrics(
    run: RunSpec, report: Reporter, *, world: int, watch: BackendCollectives, device: torch.device
) -> StepMetrics:
    """Return what reports the measurements of the steps, as means over `world` ranks."""
    details = run.preconditioner is not None
    return StepMetrics(report, world=world, device=device, watch=watch, has_details=details)


def _evaluation_batch(run: RunSpec) -> int:
    """Return the samples of an evaluation's pass, which divide into the blocks of a mesh."""
    most = max(EVALUATION_NUMBERS // numbers_per_sample(run), run.micro_batch or run.batch_per_rank)
    blocks = run.tensor.row_blocks if run.tensor else 1
    return max(most // blocks, 1) * blocks


def _make_state(
    run: RunSpec,
    rank_info: RankInfo,
    placement: Placement | None,
    *,
    device: torch.device,
    report: Reporter,
    timer: Timer,
) -> TrainingState:
    """Build the model, the optimizer and the rule with its connections; all ranks call this together."""
    time_communication = partial(timer.wrap, metric_names.COMMUNICATION_S)
    model = _build_net(run, placement, device)
    set_up_batch_norm(model, run.batch_norm, timed=time_communication)
    # each rank its own seed, because equal dropout masks on all ranks would not average out
    seed_generators(run.seed, rank=rank_info.rank, step=0)
    scale = build_loss_scale(run)
    preconditioner = build_preconditioner(run, model, rank_info.rank, scale=scale, timer=timer)
    if preconditioner is not None:
        report.note(describe_preconditioner(preconditioner))
    check = GradientCheck(model.named_parameters())
    optimizer = build_optimizer(run, model, scale, preconditioner, check)
    if note := note_on_skip(run, model):
        report.note(note)
    allreduce = _build_sum(run, placement, device=device, report=report)
    rule = build_rule(
        run,
        model,
        optimizer,
        allreduce=allreduce,
        scale=scale,
        mesh=placement.mesh if placement else None,
        preconditioner=preconditioner,
        check=check,
        timed=time_communication,
        updating=partial(timer.wrap, metric_names.UPDATE_S),
    )
    average = build_average(run, model)
    if run.compile:
        compile_net(model, world=rank_info.world)
    dense = DenseState(placement.mesh, model, optimizer) if placement else None
    state = TrainingState(model, optimizer, rule, scale, average=average, dense=dense, preconditioner=preconditioner)
    state.gradient_check = check
    if isinstance(run.optimizer, ImportedOptimizer):  # the engine's own draw nothing
        draw_alike(optimizer, run.seed, step=lambda: state.step)
    return state


def _build_net(run: RunSpec, placement: Placement | None, device: torch.device) -> nn.Module:
    """Return this rank's net on its device; raise ValueError if the engine cannot train it."""
    set_kernels(tf32=run.tf32, cudnn_benchmark=run.cudnn_benchmark)
    model = build_model(run)
    check_net(run, model)
    return place(put_on_mesh(model, placement), device, channels_last=run.channels_last)


def _build_sum(run: RunSpec, placement: Placement | None, *, device: torch.device, report: Reporter) -> Allreduce:
    """Return the all-reduce of the gradients among the replicas."""
    return build_allreduce(
        run.collective,
        run.replicas,
        choice_store=report.choice_store,
        nodes=hosts_of_replicas(run),
        device=device,
        group=placement.replicas if placement else None,
    )


def _make_coordinator(
    loop: TrainingLoop,
    folder: RunFolder,
    attempt: int,
    rank_info: RankInfo,
    *,
    preemption: PreemptionSignal,
    store: Store,
    device: torch.device,
    data: DataDigest,
) -> CheckpointCoordinator:
    return CheckpointCoordinator(
        loop.run,
        folder,
        attempt,
        rank_info,
        loop.state,
        loop.step.agreement,
        preemption=preemption,
        report=loop.report,
        store=PrefixStore("checkpoints", store),
        device=device,
        watch=loop.evaluation.watch,
        data=data,
        comparison=loop.comparison,
    )
