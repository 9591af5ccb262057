"""Whether a metric is better when it is higher or when it is lower, by the words of its name.

A name is read by its words, `val/top5_accuracy` as val, top5 and accuracy: `heatmap_s` has no word `map`.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from itertools import pairwise


class Direction(StrEnum):
    """Which values of a metric are the good ones."""

    HIGHER = "higher"
    LOWER = "lower"
    UNKNOWN = "unknown"  # the name does not say


_HIGHER = """
acc accuracy accuracies correct precision recall sensitivity specificity f1 fscore auc auroc auprc aucpr ap map miou iou
giou dice jaccard mcc kappa r2 psnr ssim bleu rouge rougel meteor cider chrf ndcg mrr hits elbo likelihood score reward
rewards return returns success throughput fps mfu hfu speedup efficiency correlation pearson spearman
"""
_LOWER = """
loss losses error errors err perplexity ppl nll wer cer eer mse rmse mae mape smape fid kid lpips bpc bpb ece brier bce
xent regret latency fpr fnr logloss
"""
HIGHER, LOWER = frozenset(_HIGHER.split()), frozenset(_LOWER.split())
# pairs of neighbouring words decide before single words
PAIRS = {
    ("exact", "match"): Direction.HIGHER,
    ("win", "rate"): Direction.HIGHER,
    ("cross", "entropy"): Direction.LOWER,
    ("bits", "per"): Direction.LOWER,
    ("log", "likelihood"): Direction.HIGHER,
    ("negative", "log"): Direction.LOWER,
    ("neg", "log"): Direction.LOWER,
    **dict.fromkeys([("per", word) for word in ("s", "sec", "second")], Direction.HIGHER),
    # settings and not results
    **dict.fromkeys([("loss", word) for word in ("scale", "scaler", "weight", "coef")], Direction.UNKNOWN),
    **dict.fromkeys([("reward", word) for word in ("scale", "weight", "coef")], Direction.UNKNOWN),
}
TOP = re.compile(r"top[0-9]+")
HELDOUT = re.compile(r"(val|valid|validation|test|eval|dev|heldout)")
SPEED = {"throughput", "fps", "mfu", "hfu", "speedup", "efficiency", "latency"}  # tell nothing about what is learned
RESULTS = (Direction.HIGHER, Direction.LOWER)
PREFIX = re.compile(r"^(train|val|valid|test|eval|dev|heldout)(?=.)")  # of names such as valloss


def direction_of(name: str) -> Direction:
    """Return which values of a metric are good: a cost decides, so that `accuracy_loss` and `top5_error` are lower."""
    # mIoU and mAP are words as they are; valLoss is two
    found = [_of_words(_words(text)) for text in (name, re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name))]
    return next((one for one in (Direction.LOWER, Direction.HIGHER) if one in found), Direction.UNKNOWN)


def is_better_when_higher(name: str) -> bool:
    """Return whether the greatest value of a metric is its best one; without a known direction the least is."""
    return direction_of(name) is Direction.HIGHER


def key_metric(names: Iterable[str]) -> str | None:
    """Return the metric that stands for a run in a list; None if no name says which values are good."""
    return next(iter(by_telling(name for name in names if direction_of(name) in RESULTS)), None)


def by_telling(names: Iterable[str]) -> list[str]:
    """Return metrics in the order of what they tell of a run, equal ones in the order given.

    Those whose names do not say which values are good come last, speed before them. Of the others those of held-out
    data come first, then those that are better when they are higher.
    """
    return sorted(names, key=_place)


def is_result(name: str) -> bool:
    """Return whether a metric tells what was learned, and its name says which values are good."""
    return direction_of(name) in RESULTS and not _is_speed(name)


def _place(name: str) -> tuple[bool, bool, bool, bool]:
    found = direction_of(name)
    return found not in RESULTS, _is_speed(name), not is_of_heldout(name), found is Direction.LOWER


def _is_speed(name: str) -> bool:
    words = _words(name)
    return any(word in SPEED for word in words) or any(pair[0] == "per" and pair in PAIRS for pair in pairwise(words))


def is_of_heldout(name: str) -> bool:
    """Return whether a metric is one of held-out data, by its name."""
    return any(HELDOUT.match(word) for word in _words(name))


def _words(text: str) -> list[str]:
    words = re.sub(r"[^a-z0-9]+", " ", text.lower())
    return re.sub(r"\b(top|hits) (?=[0-9])", r"\1", words).split()


def _of_words(words: list[str]) -> Direction:
    pairs = [PAIRS[pair] for pair in pairwise(words) if pair in PAIRS]
    if pairs:
        return pairs[0]
    if any(_is_of(word, LOWER) for word in words):
        return Direction.LOWER
    is_high = any(_is_of(word, HIGHER) or TOP.fullmatch(word) for word in words)
    return Direction.HIGHER if is_high else Direction.UNKNOWN


def _is_of(word: str, known: Iterable[str]) -> bool:
    """Return whether a word, without a number at its end (`map50`) or a part at its beginning, is a known one."""
    forms = {word, word.rstrip("0123456789"), PREFIX.sub("", word)}
    return not forms.isdisjoint(known)
