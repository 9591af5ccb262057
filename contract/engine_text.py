"""The text of an engine run in a dry run: its steps, how its ranks share replicas, K-FAC, and its list of images."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from contract.spec.choices.preconditioners import KFAC
from contract.spec.choices.tensor import describe_mesh

if TYPE_CHECKING:
    from contract.spec.run import RunSpec


def describe_engine(run: "RunSpec") -> str:
    """Return the steps of a run, and each choice that decides who computes what, or with which images."""
    return ", ".join([f"{run.steps} steps of {run.batch}", *_choices(run)])


def _choices(run: "RunSpec") -> Iterator[str]:
    if run.tensor:
        replicas = f"{run.replicas} replica{'s' if run.replicas > 1 else ''}"
        yield f"{replicas} of {describe_mesh(run.tensor.kind, run.tensor.side)}"
    if run.preconditioner:
        yield _describe_kfac(run.preconditioner)
    if images := getattr(run.data, "image_list", None):
        yield f"images of the list {images}"


def _describe_kfac(kfac: KFAC) -> str:
    """Return variant, method and intervals; the later stages are counted."""
    variant = f"{kfac.variant} with a fraction of {kfac.fraction:g}" if kfac.fraction else kfac.variant
    text = f"K-FAC {variant} by {kfac.method}: factors every {_steps(kfac.factor_every)}, inverses every "
    text += _steps(kfac.inverse_every)
    if later := len(kfac.stages):
        text += f", {later} later stage{'s' if later > 1 else ''}"
    return text


def _steps(count: int) -> str:
    return "step" if count == 1 else f"{count} steps"
