"""Tensor parallelism in a spec: what does not divide, or needs whole layers, is refused with the field and the sum."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.run import RunSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

CUBE = {"kind": "three_d", "q": 2}
BASE: dict[str, Any] = {
    "model": {"kind": "gpt", "layers": 2, "width": 32, "heads": 4},
    "data": {"kind": "text", "context": 8, "train_samples": 256, "heldout_samples": 64},
    "optimizer": {"kind": "adamw"},
    "schedule": {"kind": "constant", "rate": 0.01},
    "batch": 32,
    "epochs": 1,
    "tensor": CUBE,
    "resources": {"kind": "local", "ranks_per_node": 16},
}


def issues(**choices: Any) -> list[tuple[str, str]]:
    try:
        RunSpec.model_validate({**BASE, **choices})
    except ValidationError as error:
        return [(issue.path, issue.message) for issue in issues_of(error)]
    return []


def test_ranks_are_divided_into_replicas() -> None:
    run = RunSpec.model_validate(BASE)
    assert (run.replicas, run.batch_per_rank, run.steps) == (2, 16, 8)
    assert RunSpec.model_validate(BASE | {"tensor": None}).replicas == 16
    for tensor, replicas in (({"kind": "one_d", "ranks": 4}, 4), ({"kind": "two_d", "q": 2}, 4)):
        assert RunSpec.model_validate(BASE | {"tensor": tensor}).replicas == replicas


@pytest.mark.parametrize(
    ("choices", "path", "message"),
    [
        (
            {"resources": {"kind": "local", "ranks_per_node": 12}},
            "tensor",
            "12 ranks do not divide into replicas of 2 x 2 x 2 = 8 ranks",
        ),
        (
            {"resources": {"kind": "local", "ranks_per_node": 4}},
            "tensor",
            "4 ranks do not divide into replicas of 2 x 2 x 2 = 8 ranks",
        ),
        (
            {"model": BASE["model"] | {"width": 36}},
            "model.width",
            "a width of 36 does not divide into 8 blocks on 2 x 2 x 2 = 8 ranks",
        ),
        (
            {"model": BASE["model"] | {"heads": 1}},
            "model.heads",
            "a number of heads of 1 does not divide into 2 blocks on 2 x 2 x 2 = 8 ranks",
        ),
        (
            {"tensor": {"kind": "two_d", "q": 3}, "resources": {"kind": "local", "ranks_per_node": 9}, "batch": 9}
            | {"model": BASE["model"] | {"width": 36, "heads": 3}, "data": BASE["data"] | {"heldout_samples": 63}},
            "tensor",
            "a vocabulary of 256 does not divide into 3 blocks on 3 x 3 = 9 ranks",
        ),
        (
            {"batch": 36},
            "batch",
            "a pass of 18 samples of a replica does not divide into 4 blocks on 2 x 2 x 2 = 8 ranks",
        ),
        (
            {"micro_batch": 6},
            "micro_batch",
            "a pass of 6 samples of a replica does not divide into 4 blocks on 2 x 2 x 2 = 8 ranks",
        ),
        (
            {"data": BASE["data"] | {"heldout_samples": 60}},
            "data.heldout_samples",
            "60 held-out samples do not divide into 2 replicas x 4 blocks = 8",
        ),
        (
            {"optimizer": {"kind": "lars"}},
            "optimizer",
            "lars needs the norm of whole layers, which no rank has: use sgd, adam or adamw",
        ),
        ({"clip_norm": 1.0}, "clip_norm", "the norm of the gradient needs all shards, and is not computed"),
        (
            {"preconditioner": {"kind": "kfac"}},
            "preconditioner",
            "a preconditioner needs whole layers, which no rank has",
        ),
        ({"ema_decay": 0.9}, "ema_decay", "averages of the weights are not cut over ranks"),
        ({"precision": "bfloat16"}, "precision", "the products over the ranks are computed in float32"),
        ({"label_smoothing": 0.1}, "label_smoothing", "label smoothing needs whole logits, which no rank has"),
        ({"compile": True}, "compile", "torch.compile cannot trace the collectives inside the net"),
        ({"device": "gpu"}, "device", "tensor parallelism runs on CPUs; set device to cpu and request no GPUs"),
        (
            {"collective": {"kind": "auto"}},
            "collective",
            "auto measures links among all ranks, and the gradients are summed among replicas: name a collective",
        ),
        (
            {"collective": {"kind": "colors", "k": 4}},
            "collective.k",
            "4 colors need at least 4 ranks, but the run has 2",
        ),
        (
            {"model": {"kind": "lenet"}, "data": {"kind": "glyphs"}},
            "tensor",
            "only the model gpt can be cut over ranks, and the run's is lenet",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_its_sum(choices: dict[str, Any], path: str, message: str) -> None:
    assert issues(**choices) == [(path, message)]


def test_a_rule_whose_replicas_differ_is_refused() -> None:
    found = issues(rule={"kind": "easgd"}, optimizer={"kind": "sgd"})
    assert ("rule", "the replicas of the rule 'easgd' cannot be cut: use sync") in found
