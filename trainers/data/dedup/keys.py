"""Keys of the search for similar hashes: hashes that agree in the bits of a key are compared, all others are not.

Three kinds of keys, of which `choose_keys` takes the fastest exact one, or, where that would take long, the fastest
one:

    all pairs   one key without bits, for few hashes
    blocks      hashes that differ in at most t bits agree in at least k of m = t + k blocks of bits, so the C(m, k)
                choices of k blocks miss no pair (multi-index hashing: Norouzi, Punjani & Fleet, 2012, with k = 1)
    random      L keys of b random bits (locality-sensitive hashing: Indyk & Motwani, 1998). A pair that differs in d of
                B bits agrees in one with p = C(B - d, b) / C(B, b), whatever the images are, and is missed by all of
                them with (1 - p)^L, at d = t at most MISSED. The only one for many hashes and high thresholds.

More bits in a key mean fewer pairs that agree by chance, and more keys. Bits of images are not random, so the pairs
that agree are counted on a sample, and the most balanced bits are dealt to the blocks one after the other.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import ceil, comb, log

import numpy as np
from numpy.typing import NDArray

from trainers.data.dedup.hashes import WORD_BITS, Words

MISSED = 1e-3  # largest probability that a pair at the threshold is missed by all random keys
FEW = 8192  # hashes, of which all pairs are compared in about a second
SAMPLE = 50_000
# seconds of one core: to sort a hash, to add a bit to its key, and to compare a pair. They weigh against each other
# only.
SORT_S, BIT_S, PAIR_S = 50e-9, 1.5e-9, 4e-9
EXACT_S = 30.0  # seconds of one core that a search without a missed pair may take before random keys are considered
MOST_KEYS = 20_000
CHUNK = 1 << 14  # hashes whose keys are made at a time: they stay in the processor's cache
RANDOM_BITS = range(8, 41, 2)
TRIED = 3  # random keys, of which the mean cost counts: bits of images differ much
SEED = 0

Integers = NDArray[np.int64]
Places = Integers  # of bits, the first word's highest bit is bit 0


@dataclass(frozen=True)
class Keys:
    """The bits of each key; `is_exact`: no similar pair is missed."""

    places: Sequence[Places]
    is_exact: bool


def make_key(words: Sequence[NDArray[np.uint64]], places: Places) -> NDArray[np.uint64]:
    """Return the bits at some places of every hash as one number; `words` are the columns of the hashes."""
    key_N = np.zeros(len(words[0]), np.uint64)
    one = np.uint64(1)
    for first in range(0, len(key_N), CHUNK):
        part = slice(first, first + CHUNK)
        for place in places.tolist():
            shift = np.uint64(WORD_BITS - 1 - place % WORD_BITS)
            key_N[part] = (key_N[part] << one) | ((words[place // WORD_BITS][part] >> shift) & one)
    return key_N


def choose_keys(hash_NW: Words, threshold: int, *, exact: bool, root_N: Integers | None = None) -> Keys:
    """Return the keys with the least estimated time, exact ones if these are fast enough.

    `threshold` is below the number of bits, and N at least 2. `root_N`: known groups, whose pairs cost nothing.
    """
    n, bits = len(hash_NW), hash_NW.shape[1] * WORD_BITS
    if n <= FEW:
        return all_pairs()
    every = max(1, n // SAMPLE)
    sample_WS = np.ascontiguousarray(hash_NW[::every].T)
    root_S = np.arange(n)[::every] if root_N is None else root_N[::every]
    most_bits = WORD_BITS - n.bit_length()

    def cost(count: int, *tried: Places) -> float:
        share = sum(share_of_equal_keys(sample_WS, root_S, places) for places in tried) / len(tried)
        return count * (n * (SORT_S + BIT_S * len(tried[0])) + PAIR_S * share * n * (n - 1) / 2)

    found: list[tuple[float, Callable[[], Keys]]] = [(PAIR_S * n * (n - 1) / 2, all_pairs)]
    for per_key in range(1, bits - threshold + 1):
        if (count := comb(threshold + per_key, per_key)) > MOST_KEYS:
            break
        blocks = cut_blocks(sample_WS, threshold + per_key)
        places = np.concatenate(blocks[:per_key])
        if len(places) > most_bits:
            break
        found.append((cost(count, places), partial(block_keys, blocks, per_key)))
    best = min(found, key=lambda pair: pair[0])
    if exact or best[0] <= EXACT_S:
        return best[1]()
    for size in (size for size in RANDOM_BITS if size <= min(most_bits, bits - threshold)):
        count = count_random(bits, threshold, size)
        if count <= MOST_KEYS:
            found.append((cost(count, *random_places(bits, size, TRIED)), partial(random_keys, bits, size, count)))
    return min(found, key=lambda pair: pair[0])[1]()


def all_pairs() -> Keys:
    """Return one key that all hashes have."""
    return Keys([np.arange(0)], is_exact=True)


def cut_blocks(sample_WS: Words, count: int) -> list[Places]:
    """Return the places of the bits of each block."""
    share_B = np.unpackbits(np.ascontiguousarray(sample_WS.T).astype(">u8").view(np.uint8), axis=1).mean(axis=0)
    order_B = np.argsort(np.abs(share_B - 0.5), kind="stable")
    return [np.sort(order_B[block::count]) for block in range(count)]


def block_keys(blocks: Sequence[Places], per_key: int) -> Keys:
    """Return a key for each choice of blocks."""
    chosen: Iterable[tuple[Places, ...]] = combinations(blocks, per_key)
    return Keys([np.concatenate(parts) for parts in chosen], is_exact=True)


def count_random(bits: int, threshold: int, size: int) -> int:
    """Return the number of random keys of `size` bits that miss a pair at the threshold with at most MISSED."""
    p = comb(bits - threshold, size) / comb(bits, size)
    return 1 if p == 1 else ceil(log(MISSED) / log(1 - p)) if p > 1e-12 else MOST_KEYS + 1


def random_keys(bits: int, size: int, count: int) -> Keys:
    """Return random keys."""
    return Keys(random_places(bits, size, count), is_exact=False)


def random_places(bits: int, size: int, count: int) -> list[Places]:
    """Return the places of the bits of random keys, the same ones in every search."""
    rng = np.random.default_rng([SEED, bits, size])
    return [np.sort(rng.permutation(bits)[:size]) for _ in range(count)]


def share_of_equal_keys(sample_WS: Words, root_S: Integers, places: Places) -> float:
    """Return the share of pairs of a sample that agree in a key and are of different groups."""
    key_S, samples = make_key(list(sample_WS), places), len(root_S)
    group_S = np.unique(root_S, return_inverse=True)[1].astype(np.uint64)
    of_group_S = key_S * np.uint64(samples) + group_S  # keys of up to 40 bits, and less than 2^17 samples
    return (_equal_pairs(key_S) - _equal_pairs(of_group_S)) / (samples * (samples - 1) / 2)


def _equal_pairs(number_S: Words) -> float:
    count_K = np.unique(number_S, return_counts=True)[1].astype(np.float64)
    return float((count_K * (count_K - 1) / 2).sum())
