"""Tests of the validation of elastic and asynchronous rules."""

import pytest
from pydantic import ValidationError

from contract.spec.choices.rules import EASGD
from contract.spec.run import RunSpec
from contract.validation import issues_of

pytestmark = pytest.mark.ring("quick")


def issues(**choices: object) -> list[str]:
    small = {
        "optimizer": {"kind": "sgd", "momentum": 0.0},
        "schedule": {"kind": "constant", "rate": 0.1},
        "batch": 64,
        "epochs": 2,
        "resources": {"kind": "local", "ranks_per_node": 4},
    }
    try:
        RunSpec.model_validate({**small, **choices})
    except ValidationError as error:
        return [f"{issue.path}: {issue.message}" for issue in issues_of(error)]
    return []


@pytest.mark.parametrize("variant", ["original", "async", "hogwild", "sync1", "sync2", "sync3"])
def test_what_the_authors_set_is_stable(variant: str) -> None:
    assert issues(rule={"kind": "easgd", "variant": variant}) == []
    assert EASGD(variant=variant).force(rate=0.1, world=4) * 0.1 * 4 == pytest.approx(0.9)


def test_replicas_that_swing_apart_are_refused_with_the_sum() -> None:
    assert issues(rule={"kind": "easgd", "variant": "sync2", "rho": 4.0}) == [
        "rule.rho: 4 replicas and the center diverge: rate 0.1 x rho 4 x (1 + 4) = 2 is not below 2; "
        "rho must be below 4"
    ]
    assert issues(rule={"kind": "easgd", "variant": "sync2", "rho": 3.9}) == []
    [issue] = issues(rule={"kind": "easgd", "variant": "original", "rho": 12.0})
    assert "a replica and the center diverge: rate 0.1 x rho 12 x (1 + 1) = 2.4" in issue
    assert issues(rule={"kind": "easgd", "variant": "original", "rho": 9.9}) == []


def test_a_period_of_0_is_refused() -> None:
    [issue] = issues(rule={"kind": "easgd", "period": 0})
    assert issue.startswith("rule.period")


def test_an_optimizer_that_the_equations_do_not_know_is_refused() -> None:
    [issue] = issues(rule={"kind": "async_sgd"}, optimizer={"kind": "lars"})
    assert issue == "optimizer.kind: async_sgd is defined for SGD only; use the rule sync with lars"
    [issue] = issues(rule={"kind": "easgd"}, optimizer={"kind": "adamw"})
    assert issue == "optimizer.kind: easgd is defined for SGD only; use the rule sync with adamw"
    [issue] = issues(rule={"kind": "easgd"}, optimizer={"kind": "sgd", "momentum": 0.9, "nesterov": True})
    assert issue.startswith("optimizer.nesterov")
    [issue] = issues(rule={"kind": "async_sgd", "variant": "hogwild"}, optimizer={"kind": "sgd", "momentum": 0.9})
    assert issue.startswith("optimizer.momentum: momentum 0.9 is not possible without a lock")


@pytest.mark.parametrize("variant", ["original", "sync1", "sync2", "sync3"])
def test_a_free_pace_of_replicas_that_take_turns_is_refused(variant: str) -> None:
    [issue] = issues(rule={"kind": "easgd", "variant": variant, "rho": 0.1, "pace": "free"})
    assert issue.startswith(f"rule.pace: the replicas of {variant} take turns or exchange together")
    for rule in ({"kind": "easgd", "variant": "async"}, {"kind": "async_sgd"}):
        assert issues(rule={**rule, "pace": "free"}) == []


def test_what_the_rules_leave_no_place_for_is_refused() -> None:
    [clip, average] = issues(rule={"kind": "async_sgd"}, clip_norm=1.0, ema_decay=0.99)
    assert clip.startswith("clip_norm: async_sgd averages no gradients")
    assert average.startswith("ema_decay: async_sgd evaluates its weights directly")


def test_the_scaled_rate_is_what_counts() -> None:
    schedule = {"kind": "constant", "rate": 0.1, "scaling": {"reference_batch": 32}}
    [issue] = issues(rule={"kind": "easgd", "variant": "sync2", "rho": 2.0}, schedule=schedule)
    assert "rate 0.2 x rho 2 x (1 + 4) = 2 is not below 2" in issue
