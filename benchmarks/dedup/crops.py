"""What a search finds by the size of the crop and the threshold, on glyphs and on larger pictures.

A copy loses at each end up to `crop` of the side; it is also brighter or darker, and stored as a JPEG.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tests.testing.trainers.pictures import pictures
from trainers.data.dedup.altered_copies import DUPLICATES, Pixels, WithCopies, inject, pair_scores
from trainers.data.dedup.duplicates import HashSettings, find_duplicates
from trainers.data.dedup.hashes import Words, hash_pixels
from trainers.data.dedup.repeated_glyphs import make_glyphs

CROPS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05)
THRESHOLDS = (28, 36, 44, 48, 52, 56, 60, 64, 68)
SETS = ("glyphs", "pictures")
PICTURES, SIDE = 1000, 96
DEFAULT = HashSettings()


def measure_crops(seeds: tuple[int, ...], sets: tuple[str, ...] = SETS) -> list[dict[str, Any]]:
    """Return precision and recall of the pairs in common groups, means over the seeds."""
    rows = []
    for images in sets:
        for crop in CROPS:
            made = list(_sets(images, crop, seeds))
            for threshold in THRESHOLDS:
                settings = HashSettings(DEFAULT.kind, DEFAULT.bits, threshold)
                scores = [
                    pair_scores(find_duplicates(hash_NW, settings).leader_of_N, copies.original_N)
                    for copies, hash_NW in made
                ]
                precision, recall = np.array(scores).mean(axis=0).tolist()
                row = {"images": images, "crop": crop, "threshold": threshold}
                rows.append({**row, "precision": round(precision, 4), "recall": round(recall, 4)})
                print(rows[-1], flush=True)
    return rows


@cache
def _pictures(seed: int) -> Pixels:
    return pictures(PICTURES, SIDE, seed)


def _sets(images: str, crop: float, seeds: tuple[int, ...]) -> Iterator[tuple[WithCopies, Words]]:
    """Yield the images of each seed with their copies, and their hashes."""
    for seed in seeds:
        if images == "glyphs":
            copies = inject(make_glyphs(0.0, 0).train.x_N, DUPLICATES, seed, crop=crop)
            yield copies, hash_pixels(copies.x_N[:, None], DEFAULT.kind, DEFAULT.bits)
        else:
            copies = inject(_pictures(seed), DUPLICATES, seed + 100, crop=crop)
            yield copies, hash_pixels(copies.x_N.transpose(0, 3, 1, 2), DEFAULT.kind, DEFAULT.bits)
