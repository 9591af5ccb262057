"""The metric by which a run of a program is judged."""

import pytest

from contract.main_metric import main_metric

pytestmark = pytest.mark.ring("quick")


@pytest.mark.parametrize(
    ("names", "main"),
    [
        (["loss", "train/acc", "val/acc", "val/loss"], "val/acc"),
        (["loss", "val_loss"], "val_loss"),
        (["loss", "accuracy"], "accuracy"),
        (["tokens_per_s", "epoch", "loss", "learning_rate", "compute_s"], "loss"),
        (["valid/items", "loss"], "loss"),
        (["tokens_per_s"], "tokens_per_s"),
        (["heldout_accuracy", "val/acc"], "heldout_accuracy"),
        (["val/acc/rank-3", "system/n1/memory_bytes"], None),
        ([], None),
    ],
)
def test_a_held_out_result_comes_before_a_training_one_and_speed_last(names: list[str], main: str | None) -> None:
    assert main_metric(names) == main
