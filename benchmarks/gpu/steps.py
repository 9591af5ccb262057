"""Checks of whole steps of the engine: waits of the host, layouts, precision, compilation, and the rules."""

import math
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.place import Figures, Place, check_close
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from trainers.progress.reporter import Reporter
from trainers.ranks.rank_info import local_rank_info
from trainers.training import engine
from trainers.training.loop import TrainingLoop

SGD = {"kind": "sgd", "momentum": 0.9}
SYNC_WARNING = "called a synchronizing"  # of torch.cuda.set_sync_debug_mode


def check_waits(place: Place) -> Figures:
    """Count the calls of a step in which torch makes the host wait for the GPU: none, as an event is no such call."""
    found = Figures()
    cases: dict[str, dict[str, Any]] = {
        "sync": {"optimizer": {"kind": "lars"}, "clip_norm": 1.0},
        "sync with average": {"ema_decay": 0.9},
        "bfloat16": {"precision": "bfloat16", "channels_last": True},
        "elastic": {"rule": {"kind": "easgd", "variant": "sync3", "rho": 0.1, "period": 1}},
    }
    for name, choices in cases.items():
        with _loop(place, choices) as (loop, take):
            take(4)  # the first steps report their times one by one, for which the host waits
            found[name] = _count_waits(place, lambda: take(1))  # called at once
            allowed = 0 if name != "elastic" else 1
            if found[name] > allowed:
                raise AssertionError(f"a step with {name} waits {found[name]} times for the GPU, not {allowed} times")
            assert loop.state.step == 5
    return found


def check_layouts(place: Place) -> Figures:
    """Time steps with the four combinations of channels_last and bfloat16, and compare their first losses."""
    found, first = Figures(), Figures()
    for channels_last in (False, True):
        for precision in ("float32", "bfloat16"):
            choices = {"channels_last": channels_last, "precision": precision}
            with _loop(place, choices) as (loop, take):
                name = f"{precision}{' channels_last' if channels_last else ''}"
                first[name] = take(1)
                found[name] = place.seconds(lambda: take(1))  # called at once
                if channels_last:
                    strides = [p.stride()[1] for p in loop.state.model.parameters() if p.dim() == 4]
                    assert set(strides) == {1}, f"the weights have the strides {strides}"
    for name, loss in first.items():
        check_close(torch.tensor(loss), torch.tensor(first["float32"]), tolerance=0.1, name=f"the loss in {name}")
    return found


def check_precision(place: Place) -> Figures:
    """Take steps in every precision; the losses must be finite."""
    found = Figures()
    for choices in (
        {"precision": "float16"},
        {"precision": "float32", "tf32": True},
        {"precision": "float32", "cudnn_benchmark": True},
        {"precision": "bfloat16", "channels_last": True, "cudnn_benchmark": True},
    ):
        with _loop(place, choices) as (_, take):
            name = " ".join(f"{field}={value}" for field, value in choices.items())
            found[name] = {"loss": take(3), "step_s": place.seconds(lambda: take(1))}  # called at once
    return found


def check_compile(place: Place) -> Figures:
    """Compare a compiled net's losses and step times with those of the net as it is."""
    found, losses = Figures(), {}
    for compiled in (False, True):
        with _loop(place, {"compile": compiled}) as (_, take):
            losses[compiled] = take(2)
            found["compiled" if compiled else "plain"] = place.seconds(lambda: take(1))  # at once
    check_close(torch.tensor(losses[True]), torch.tensor(losses[False]), tolerance=1e-2, name="the compiled net's loss")
    return found


def check_rules(place: Place) -> Figures:
    """Take steps with every rule and evaluate; the losses must be finite."""
    found = Figures()
    variants = ("sync1", "sync2", "sync3", "async")
    rules: list[dict[str, Any]] = [{"kind": "easgd", "variant": variant, "rho": 0.1} for variant in variants]
    for rule in [*rules, {"kind": "async_sgd", "variant": "async"}]:
        with _loop(place, {"rule": rule, "channels_last": True}) as (loop, take):
            found[f"{rule['kind']} {rule['variant']}"] = take(3)
            loop.state.rule.wait_for_all()
            if loop.state.rule.is_synchronous or dist.get_rank() == 0:
                with loop.state.rule.evaluation_weights():
                    loop.evaluation(loop.state.model, alone=not loop.state.rule.is_synchronous)
    return found


def check_launches(place: Place) -> Figures:
    """Measure the share of a step in which the GPU waits for the host: the reason for or against CUDA graphs."""
    found = Figures()
    for share in (place.size(4, 4), place.size(64, 8), place.size(512, 8)):
        choices = {"precision": "bfloat16", "channels_last": True, "batch": share * dist.get_world_size()}
        with _loop(place, choices) as (_, take):
            take(3)
            step_s = place.seconds(lambda: take(5)) / 5  # called at once
            activities = [ProfilerActivity.CUDA if place.is_gpu else ProfilerActivity.CPU]
            with profile(activities=activities) as profiler:
                take(5)
                place.wait()
            busy = "self_device_time_total" if place.is_gpu else "self_cpu_time_total"
            busy_s = sum(getattr(event, busy) for event in profiler.key_averages()) / 1e6 / 5
            found[f"{share} images per rank"] = {"step_s": step_s, "launch_bound": max(0.0, 1 - busy_s / step_s)}
    return found


@contextmanager
def _loop(place: Place, choices: dict[str, Any]) -> Iterator[tuple[TrainingLoop, Any]]:
    """Yield the training loop of a small run, and a function that takes steps and returns the last loss."""
    world, pixels = dist.get_world_size(), place.size(64, 32)
    spec = {
        "model": {"kind": "resnet18"},
        "data": {"kind": "synthetic", "height": pixels, "width": pixels, "classes": 10, "train_samples": 65_536},
        "optimizer": SGD,
        "schedule": {"kind": "constant", "rate": 1e-3},
        "batch": place.size(64, 8) * world,
        "epochs": 1,
        "resources": {"kind": "local", "ranks_per_node": world},
    }
    run, rank_info = RunSpec.model_validate(spec | choices), local_rank_info(dist.get_rank(), world)
    with tempfile.TemporaryDirectory() as folder:
        report = Reporter(RunFolder(Path(folder)), 1, rank=rank_info.rank)
        loop = engine.make_loop(run, rank_info, device=place.device, report=report)
        at = run.batch_schedule.position(0)
        batches = loop.feed.epoch_batches(at)
        losses: list[float] = []
        step = loop.step

        def note_loss(*arguments: Any, **named: Any) -> float:
            losses.append(step(*arguments, **named))
            return losses[-1]

        def take(steps: int) -> float:
            for _ in range(steps):
                loop.take_step(batches, at)
            assert math.isfinite(losses[-1])
            return losses[-1]

        try:
            with mock.patch.object(loop, "step", note_loss):
                yield loop, take
        finally:
            batches.close()
            loop.feed.close()


def _count_waits(place: Place, work: Any) -> int:
    if not place.is_gpu:
        work()
        return 0
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum(SYNC_WARNING in str(warning.message) for warning in caught)
