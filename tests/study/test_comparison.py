"""Time to accuracy, and valid and invalid speed-ups."""

from typing import Any

import pytest

from contract.lifecycle.state import State
from contract.spec.program.run import ProgramSpec
from contract.spec.run import RunSpec
from study.comparison import Unfair, compare
from study.trial import Mark, Trial, trial

pytestmark = pytest.mark.ring("quick")

SPEC: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 64,
    "epochs": 2,
    "resources": {"kind": "local", "ranks_per_node": 1},
}


def done(name: str, *accuracies: float, step_s: float = 1.0, state: State = State.DONE, **fields: Any) -> Trial:
    """Return a trial with ten steps per epoch and an evaluation after every epoch."""
    marks = [Mark(10 * n, n, 10 * n * step_s, accuracy) for n, accuracy in enumerate(accuracies, start=1)]
    return Trial(name, state, RunSpec.model_validate({**SPEC, **fields}), marks)


def test_a_trial_has_one_mark_per_evaluation() -> None:
    points = {
        "loss": [(step, 1.0) for step in range(1, 7)],
        "epoch": [(2, 1.0), (4, 2.0), (6, 3.0)],
        "trained_s": [(2, 6.0), (4, 11.0), (6, 17.0)],
        "heldout_accuracy": [(2, 0.5), (4, 0.75), (6, None)],
    }
    found = trial("run 1", State.DONE, RunSpec.model_validate(SPEC), points)
    assert found.marks == [Mark(2, 1.0, 6.0, 0.5), Mark(4, 2.0, 11.0, 0.75)]
    assert found.best == 0.75
    assert found.reached(0.6) == found.marks[1]
    assert found.reached(0.8) is None


def test_a_speedup_is_reported_with_all_differences() -> None:
    slow = done("run 1", 0.8, 0.9)
    wide = {"kind": "local", "ranks_per_node": 4}
    fast = done("run 2", 0.7, 0.95, step_s=0.25, batch=256, optimizer={"kind": "lars"}, resources=wide)
    found = compare(slow, fast)
    assert (found.accuracy, found.speedup) == (0.9, 4.0)
    assert found.differences["batch"] == (64, 256)
    assert found.differences["resources.ranks_per_node"] == (1, 4)
    assert [choice["kind"] for choice in found.differences["optimizer"]] == ["sgd", "lars"]
    assert len(found.differences) == 3
    assert compare(slow, fast, 0.75).speedup == 2.0  # 10 s and 5 s


def test_a_run_that_trades_accuracy_for_time_is_refused() -> None:
    with pytest.raises(Unfair) as caught:
        compare(done("run 1", 0.8, 0.9), done("run 2", 0.8, 0.89, step_s=0.1))
    assert caught.value.reasons == ["run 2 never reached an accuracy of 90.00 %: its best is 89.00 %"]


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (done("run 2", 0.9, model={"kind": "convnet", "width": 8}), "model.width is 16 in run 1, 8 in run 2"),
        (done("run 2", 0.9, data={"kind": "synthetic", "height": 8, "width": 8}), "different problems: data is"),
        (done("run 2", 0.9, state=State.FAILED), "run 2 is failed, not done"),
        (done("run 2"), "run 2 was never evaluated"),
        (done("run 1", 0.9), "run 1 is compared with itself"),
        (done("run 2", 0.9, step_s=0.0), "the training time was not recorded"),
    ],
)
def test_a_misleading_comparison_is_refused_with_its_reason(other: Trial, reason: str) -> None:
    with pytest.raises(Unfair, match=reason):
        compare(done("run 1", 0.9), other)


def test_a_baseline_of_several_ranks_causes_a_remark() -> None:
    wide = {"kind": "local", "ranks_per_node": 4}
    found = compare(done("run 1", 0.9, resources=wide), done("run 2", 0.9, resources=wide, seed=1))
    assert any("4 ranks" in remark for remark in found.remarks)
    assert found.differences == {"seed": (0, 1)}


@pytest.mark.parametrize("both", [False, True])
def test_programs_are_refused_because_their_net_and_data_are_not_known(both: bool) -> None:
    program = Trial("run 2", State.DONE, ProgramSpec(command="true"), [Mark(10, 1.0, 1.0, 0.9)])
    first = Trial("run 1", State.DONE, program.spec, program.marks) if both else done("run 1", 0.9)
    with pytest.raises(Unfair) as caught:
        compare(first, program)
    assert len(caught.value.reasons) == 1 + both
    assert "`bigbatch diff` shows how two runs differ" in caught.value.reasons[-1]
