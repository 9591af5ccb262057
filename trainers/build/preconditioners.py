"""Build the preconditioner."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from contract import metric_names
from contract.spec.choices import preconditioners as choices
from contract.spec.run import RunSpec
from trainers.build.tasks import loss_terms
from trainers.preconditioners.kfac import KFAC
from trainers.preconditioners.options import KFACOptions, Staged
from trainers.progress.timer import Timer
from trainers.training.precision import LossScale


def build_preconditioner(
    run: RunSpec, model: nn.Module, rank: int, *, scale: LossScale | None = None, timer: Timer | None = None
) -> KFAC | None:
    """Return the preconditioner of a run, whose parts of the step's time `timer` counts, or None.

    Raise ValueError if the net has no layer for it.
    """
    choice = run.preconditioner
    if choice is None:
        return None
    wrap = Timer(torch.device("cpu")).wrap if timer is None else timer.wrap
    return KFAC(
        model,
        make_options(choice, timeout_s=run.collective.timeout_s),
        rank=rank,
        world=run.resources.world,
        terms=loss_terms(run),
        scale=_scale_of(scale),
        timed_factors=partial(wrap, metric_names.FACTORS_S),
        timed_inverses=partial(wrap, metric_names.INVERSES_S),
        timed=partial(wrap, metric_names.PRECONDITION_S),
        timed_exchange=partial(wrap, metric_names.COMMUNICATION_S),
    )


def make_options(choice: choices.KFAC, *, timeout_s: float) -> KFACOptions:
    """Return the library's options of a spec."""
    return KFACOptions(
        factor_every=_staged(choice.factor_every, [(stage.step, stage.factor_every) for stage in choice.stages]),
        inverse_every=_staged(choice.inverse_every, [(stage.step, stage.inverse_every) for stage in choice.stages]),
        damping=_staged(choice.damping, [(stage.step, stage.damping) for stage in choice.stages]),
        decay=choice.decay,
        kl_clip=choice.kl_clip,
        method=choice.method,
        fraction=choice.holding_fraction,
        factor_dtype=getattr(torch, choice.factor_dtype),
        skip=choice.skip,
        largest_factor=choice.largest_factor,
        timeout_s=timeout_s,
    )


def describe_preconditioner(kfac: KFAC) -> str:
    """Return a line for the log: what K-FAC preconditions, and patterns of `skip` that match no layer."""
    words = len(kfac.factors.average_F)
    text = f"K-FAC preconditions {len(kfac.layers)} layers, whose factors have {words:,} numbers"
    if kfac.unused_patterns:
        text += f"; no layer matches {', '.join(kfac.unused_patterns)} of preconditioner.skip"
    return text


def _staged(first: float, stages: list[tuple[int, float | None]]) -> Staged:
    return Staged(first, [(step, value) for step, value in stages if value is not None])


def _scale_of(scale: LossScale | None) -> Callable[[], float]:
    return (lambda: 1.0) if scale is None else (lambda: scale.scale)
