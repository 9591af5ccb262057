"""A preconditioner that cannot work is refused with its field and the reason."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.spec.run import RunSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")

RUN: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 256,
    "epochs": 20,
    "resources": {"kind": "local", "ranks_per_node": 4},
}
KFAC: dict[str, Any] = {"kind": "kfac", "factor_every": 2, "inverse_every": 10}


def run(kfac: dict[str, Any], **choices: Any) -> RunSpec:
    return RunSpec.model_validate(RUN | {"preconditioner": KFAC | kfac} | choices)


@pytest.mark.parametrize(
    ("kfac", "choices", "path", "words"),
    [
        ({}, {"rule": {"kind": "easgd"}}, "preconditioner", "the replicas of easgd have neither; use the rule sync"),
        ({}, {"rule": {"kind": "async_sgd"}}, "preconditioner", "the replicas of async_sgd"),
        ({}, {"compile": True}, "compile", "in hooks, which a compiled net does not call"),
        ({"inverse_every": 1}, {}, "preconditioner.inverse_every", "inverse_every must be at least factor_every"),
        ({"variant": "hybrid"}, {}, "preconditioner.fraction", "hybrid needs the fraction"),
        ({"fraction": 0.5}, {}, "preconditioner.fraction", "comm_opt has a fraction of its own"),
        ({"skip": ["*"]}, {}, "preconditioner.skip", "no layer would be left"),
        ({"stages": [{"step": 100, "damping": 0.1}]}, {}, "preconditioner.stages.0.step", "the run has 100 steps"),
        (
            {"stages": [{"step": 9, "damping": 0.1}, {"step": 9, "damping": 0.2}]},
            {},
            "preconditioner.stages.1.step",
            "must come after step 9",
        ),
        ({"stages": [{"step": 9}]}, {}, "preconditioner.stages.0", "the stage changes nothing"),
        ({"stages": [{"step": 9, "factor_every": 20}]}, {}, "preconditioner.stages.0", "inverses every 10 steps"),
        ({"damping": 0.0}, {}, "preconditioner.damping", "greater than or equal to 0.0"),
    ],
)
def test_it_is_refused_with_the_reason(kfac: dict[str, Any], choices: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        run(kfac, **choices)
    found = {issue.path: issue.message for issue in issues_of(refusal.value)}
    assert words in found[path]


@pytest.mark.parametrize("optimizer", ["sgd", "lars", "lamb", "adamw"])
def test_it_goes_with_any_optimizer(optimizer: str) -> None:
    spec = run({"variant": "hybrid", "fraction": 0.5}, optimizer={"kind": optimizer}, precision="float16")
    assert spec.preconditioner is not None
    assert spec.preconditioner.holding_fraction == 0.5


def test_a_stored_run_without_the_field_has_none() -> None:
    assert RunSpec.model_validate(RUN).preconditioner is None
