"""The direction of a metric follows from the words of its name."""

import pytest

from contract.metric_direction import Direction, by_telling, direction_of, key_metric

pytestmark = pytest.mark.ring("quick")

HIGHER = """
val/top5 top_5 top-1 acc@1 acc1 mAP map50 map50-95 val_mAP50 r2 R2 val_iou mIoU miou roc_auc AUROC psnr PSNR ssim recall
recall@10 val/precision dice f1 F1 f1_macro bleu BLEU-4 rougeL rouge1 nDCG ndcg@10 mrr accuracy val_acc testacc valAcc
episode_return reward success_rate samples_per_s tokens/per_second throughput heldout_accuracy
"""
LOWER = """
error top5_error loss val/loss valLoss valloss train_loss accuracy_loss ppl perplexity WER cer mse RMSE mae MAPE fid nll
negative_log_likelihood bpc heldout_bits_per_byte latency latency_p99 cross_entropy reward_loss FID heldout_loss
"""
UNKNOWN = """
heatmap_s accumulated accumulation_steps lr learning_rate grad_norm loss_scale epoch mapping account bitmap recalled
returned_rows stopped capacity batch temperature entropy
"""


@pytest.mark.parametrize("name", HIGHER.split())
def test_a_figure_of_merit_is_better_when_it_is_higher(name: str) -> None:
    assert direction_of(name) is Direction.HIGHER


@pytest.mark.parametrize("name", LOWER.split())
def test_a_cost_is_better_when_it_is_lower(name: str) -> None:
    assert direction_of(name) is Direction.LOWER


@pytest.mark.parametrize("name", UNKNOWN.split())
def test_a_name_without_a_known_word_has_no_direction(name: str) -> None:
    assert direction_of(name) is Direction.UNKNOWN


@pytest.mark.ring("quick")
@pytest.mark.parametrize(
    ("names", "key"),
    [
        (["loss", "train/acc", "val/acc", "val/loss"], "val/acc"),
        (["loss", "val_loss"], "val_loss"),
        (["loss", "accuracy"], "accuracy"),
        (["tokens_per_s", "epoch", "loss", "learning_rate", "compute_s"], "loss"),
        (["mfu", "latency", "loss"], "loss"),
        (["tokens_per_s"], "tokens_per_s"),
        (["epoch", "grad_norm"], None),
    ],
)
def test_a_heldout_result_comes_before_a_training_one_and_speed_last(names: list[str], key: str | None) -> None:
    assert key_metric(names) == key


def test_metrics_are_ordered_by_what_they_tell_and_equal_ones_stay_in_their_order() -> None:
    names = ["grad_norm", "loss", "tokens_per_s", "train/acc", "val/loss", "val/top5", "val/acc", "epoch"]
    expected = ["val/top5", "val/acc", "val/loss", "train/acc", "loss", "tokens_per_s", "grad_norm", "epoch"]
    assert by_telling(names) == expected
    assert by_telling([]) == []
