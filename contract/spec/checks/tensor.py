"""Checks of tensor parallelism against all other choices of a run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from contract.spec.batch_size import split_into_passes
from contract.spec.choices.collectives import Auto
from contract.spec.choices.data import Text
from contract.spec.choices.losses import CrossEntropy
from contract.spec.choices.models import GPT
from contract.spec.choices.optimizers import SGD, Adam, AdamW
from contract.spec.choices.rules import Sync
from contract.spec.choices.tensor import OneD, ThreeD, TwoD, describe_mesh
from contract.validation import ValidationIssue

if TYPE_CHECKING:
    from contract.spec.run import RunSpec


def check_tensor(run: "RunSpec") -> Iterator[ValidationIssue]:
    """Yield an issue for each reason why the ranks of the run cannot share replicas as `tensor` says."""
    if (tensor := run.tensor) is None:
        return
    if run.resources.world % tensor.size:
        message = f"{run.resources.world} ranks do not divide into replicas of {_sum(tensor)}"
        yield ValidationIssue(path="tensor", message=message)
        return
    if not isinstance(run.model, GPT) or not isinstance(run.data, Text):
        message = f"only the model gpt can be cut over ranks, and the run's is {run.model.kind}"
        yield ValidationIssue(path="tensor", message=message)
        return
    yield from _check_sizes(run.model, run.data, tensor)
    yield from _check_samples(run, run.data, tensor)
    yield from _check_choices(run)


def _check_sizes(model: GPT, data: Text, tensor: OneD | TwoD | ThreeD) -> Iterator[ValidationIssue]:
    """Yield an issue for each size of the net that does not divide."""
    blocks = {"model.width": (model.width, tensor.width_blocks, "a width")}
    blocks["model.heads"] = (model.heads, tensor.side, "a number of heads")
    token_blocks = tensor.side**2 if isinstance(tensor, ThreeD) else tensor.side
    blocks["tensor"] = (data.vocabulary, token_blocks, "a vocabulary")
    for path, (size, count, name) in blocks.items():
        if size % count:
            message = f"{name} of {size} does not divide into {count} blocks on {_sum(tensor)}"
            yield ValidationIssue(path=path, message=message)


def _check_samples(run: "RunSpec", data: Text, tensor: OneD | TwoD | ThreeD) -> Iterator[ValidationIssue]:
    """Yield an issue for each number of samples that does not divide into the blocks of the replicas."""
    blocks = tensor.row_blocks
    for stage in run.batch_schedule.stages:
        share, rest = divmod(stage.batch, run.replicas)
        passes = split_into_passes(share, run.micro_batch) if share and not rest else []
        if any(samples % blocks for samples in passes):
            one = f"a pass of {next(samples for samples in passes if samples % blocks)} samples of a replica"
            message = f"{one} does not divide into {blocks} blocks on {_sum(tensor)}"
            yield ValidationIssue(path="micro_batch" if run.micro_batch else "batch", message=message)
    if data.heldout_samples % (run.replicas * blocks):
        parts = f"{run.replicas} replicas x {blocks} blocks = {run.replicas * blocks}"
        message = f"{data.heldout_samples} held-out samples do not divide into {parts}"
        yield ValidationIssue(path="data.heldout_samples", message=message)


def _check_choices(run: "RunSpec") -> Iterator[ValidationIssue]:
    """Yield an issue for each choice that needs a whole layer, or a whole net, on each rank."""
    refused: list[tuple[bool, str, str]] = [
        (
            not isinstance(run.rule, Sync),
            "rule",
            f"the replicas of the rule '{run.rule.kind}' cannot be cut: use sync",
        ),
        (
            not isinstance(run.optimizer, SGD | Adam | AdamW),
            "optimizer",
            f"{run.optimizer.kind} needs the norm of whole layers, which no rank has: use sgd, adam or adamw",
        ),
        (
            run.preconditioner is not None,
            "preconditioner",
            "a preconditioner needs whole layers, which no rank has",
        ),
        (not isinstance(run.loss, CrossEntropy), "loss", "a loss of your own needs whole logits, which no rank has"),
        (bool(run.metrics), "metrics", "metrics of your own need whole logits, which no rank has"),
        (run.label_smoothing > 0, "label_smoothing", "label smoothing needs whole logits, which no rank has"),
        (
            run.clip_norm is not None,
            "clip_norm",
            "the norm of the gradient needs all shards, and is not computed",
        ),
        (run.ema_decay is not None, "ema_decay", "averages of the weights are not cut over ranks"),
        (run.precision != "float32", "precision", "the products over the ranks are computed in float32"),
        (run.compile, "compile", "torch.compile cannot trace the collectives inside the net"),
        (
            run.device == "gpu" or bool(run.resources.gpus_per_rank),
            "device",
            "tensor parallelism runs on CPUs; set device to cpu and request no GPUs",
        ),
        (
            isinstance(run.collective, Auto),
            "collective",
            "auto measures links among all ranks, and the gradients are summed among replicas: name a collective",
        ),
    ]
    for is_chosen, path, message in refused:
        if is_chosen:
            yield ValidationIssue(path=path, message=message)


def _sum(tensor: OneD | TwoD | ThreeD) -> str:
    """Return the number of ranks of a replica as a sum, such as "2 x 2 x 2 = 8 ranks"."""
    return describe_mesh(tensor.kind, tensor.side)
