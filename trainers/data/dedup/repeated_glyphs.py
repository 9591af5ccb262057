"""Glyphs of which a share are altered copies of others, with or without a search that leaves copies out.

    data: {kind: import, function: "trainers.data.dedup.repeated_glyphs:repeated_glyphs", options: {threshold: 40}, ...}

`python -m trainers.data.dedup.repeated_glyphs` prints how many images stay at each threshold, which a spec must state.
"""

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch

from contract.spec.dedup.options import HashKind
from trainers.data.dedup.altered_copies import DUPLICATES, Samples, WithCopies, inject, pair_scores
from trainers.data.dedup.duplicates import Duplicates, HashSettings, find_duplicates
from trainers.data.dedup.hashes import hash_pixels
from trainers.data.sources.glyphs import glyphs

CLASSES, TRAIN, HELDOUT = 26, 4096, 2000
DEFAULT = HashSettings()
THRESHOLDS = (0, 12, 24, 36, 48, 60, 68, 72, 76, 80)


@dataclass(frozen=True)
class RepeatedGlyphs:
    """The images with their copies, the images of the held-out set, and the classes of both."""

    train: WithCopies
    y_N: torch.Tensor
    heldout_NHW: np.ndarray
    heldout_y_N: torch.Tensor


def repeated_glyphs(
    threshold: int | None = None,
    *,
    share: float = DUPLICATES,
    kind: HashKind = DEFAULT.kind,
    bits: int = DEFAULT.bits,
    copies_seed: int = 0,
    choice: str = "dedup",
) -> tuple[Samples, Samples]:
    """Return the training and the held-out data set; without a threshold all images train.

    `choice` says which images are left out: "dedup", those that the search finds; "random", as many at random.
    """
    made = make_glyphs(share, copies_seed)
    stay_M = np.arange(TRAIN)
    if threshold is not None:
        stay_M = search(made.train, HashSettings(kind, bits, threshold)).leaders
    if choice == "random":
        stay_M = np.sort(np.random.default_rng(copies_seed).permutation(TRAIN)[: len(stay_M)])
    x_MHW = made.train.x_N[stay_M]
    moments = {"mean": float(x_MHW.mean()), "deviation": float(x_MHW.std())}
    return (
        Samples(x_MHW, made.y_N[torch.from_numpy(stay_M)], **moments),
        Samples(made.heldout_NHW, made.heldout_y_N, **moments),
    )


@cache
def make_glyphs(share: float, copies_seed: int) -> RepeatedGlyphs:
    """Render the glyphs and replace a share of the training images by altered copies of others, with their classes."""
    images, y_N, heldout_NHW, heldout_y_N = _render()
    repeated = inject(images, share, copies_seed)
    return RepeatedGlyphs(repeated, y_N[torch.from_numpy(repeated.original_N)], heldout_NHW, heldout_y_N)


@cache
def _render() -> tuple[np.ndarray, torch.Tensor, np.ndarray, torch.Tensor]:
    """Return images and classes for training, then held-out ones."""
    with tempfile.TemporaryDirectory() as folder:
        train, heldout = glyphs(CLASSES, train_samples=TRAIN, heldout_samples=HELDOUT, cache=Path(folder))
        x_NHW, heldout_NHW = (split.x_N1HW[:, 0].numpy().copy() for split in (train, heldout))
        return x_NHW, train.y_N.clone(), heldout_NHW, heldout.y_N.clone()


def search(images: WithCopies, settings: HashSettings) -> Duplicates:
    """Return the duplicates that a search finds among gray images."""
    return find_duplicates(hash_pixels(images.x_N[:, None], settings.kind, settings.bits), settings)


def main() -> None:
    """Print the images that stay, and the precision and recall of the pairs, at several thresholds."""
    train = make_glyphs(DUPLICATES, 0).train
    print(f"{TRAIN - round(DUPLICATES * TRAIN)} of {TRAIN} images are no copies")
    for threshold in THRESHOLDS:
        found = search(train, HashSettings(DEFAULT.kind, DEFAULT.bits, threshold))
        precision, recall = pair_scores(found.leader_of_N, train.original_N)
        print(f"threshold {threshold:3}: {len(found.leaders)} stay, precision {precision:.3f}, recall {recall:.3f}")


if __name__ == "__main__":
    main()
