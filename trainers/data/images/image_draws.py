"""The random numbers of images: a hash of (seed, epoch, number of the image, place), the same in every process.

The hash is splitmix64 of a counter (Steele, Lea & Flood, 2014, "Fast splittable pseudorandom number generators"),
computed for a whole batch at once: a generator for each image would take a tenth of the image's time.
"""

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

Units = NDArray[np.float64]  # from 0 up to, but not including, 1
Hashes = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
PER_IMAGE = np.uint64(64)  # the most numbers that an image may draw
SPARE_BITS = np.uint64(11)  # a double has 53 bits


def draw_units(seed: int, epoch: int, number_B: NDArray[np.int64], count: int) -> Units:
    """Return unit_BU: `count` uniform numbers of each image; all arithmetic is modulo 2^64."""
    assert count <= PER_IMAGE
    key = SeedSequence([seed, epoch]).generate_state(1, np.uint64)
    places = np.arange(1, count + 1, dtype=np.uint64)
    place_BU: Hashes = np.add.outer(number_B.astype(np.uint64) * PER_IMAGE, places)
    mixed_BU: Hashes = np.add(key, place_BU * GOLDEN)
    for shift, factor in zip(SHIFTS[:2], FACTORS, strict=True):
        mixed_BU = np.multiply(mixed_BU ^ (mixed_BU >> shift), factor)
    mixed_BU = mixed_BU ^ (mixed_BU >> SHIFTS[2])
    return (mixed_BU >> SPARE_BITS).astype(np.float64) * 2.0**-53
