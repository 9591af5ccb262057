"""How long the grouping of many hashes takes, and how long the hashing of images."""

import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from contract.spec.dedup.options import HASH_KINDS
from trainers.data.dedup.altered_copies import DUPLICATES, pair_scores
from trainers.data.dedup.duplicates import HashSettings, find_duplicates
from trainers.data.dedup.grouping import group_hashes, prepare_search
from trainers.data.dedup.hashes import WORD_BITS, Words, hash_pixels
from trainers.data.dedup.repeated_glyphs import make_glyphs

PROCESSES = 2
DEFAULT = HashSettings()


def random_hashes(n: int, bits: int, flips: int, seed: int = 0) -> Words:
    """Return hashes of random bits, of which a share are copies of others with up to `flips` flipped bits."""
    rng = np.random.default_rng(seed)
    hash_NW = rng.integers(0, 2**64, (n, bits // WORD_BITS), dtype=np.uint64)
    copies = round(DUPLICATES * n)
    hash_NW[:copies] = hash_NW[copies + rng.integers(0, n - copies, copies)]
    for _ in range(flips):
        is_flipped_C = rng.random(copies) < 0.5
        bit_C = rng.integers(0, bits, copies)
        flip_C = np.where(is_flipped_C, np.uint64(1) << (bit_C % WORD_BITS).astype(np.uint64), np.uint64(0))
        hash_NW[np.arange(copies), bit_C // WORD_BITS] ^= flip_C
    return hash_NW


def image_hashes(n: int) -> Words:
    """Return hashes with the statistics of images: those of glyphs, each with some of its bits flipped at random."""
    glyph_NW = hash_pixels(make_glyphs(DUPLICATES, 0).train.x_N[:, None], DEFAULT.kind, DEFAULT.bits)
    rng = np.random.default_rng(1)
    hash_NW = glyph_NW[rng.integers(0, len(glyph_NW), n)]
    # a random word and an old one: bits that differ between images differ here, and all others do not
    other_NW = glyph_NW[rng.integers(0, len(glyph_NW), n)]
    mask_NW = rng.integers(0, 2**64, hash_NW.shape, dtype=np.uint64)
    return (hash_NW & mask_NW) | (other_NW & ~mask_NW)


def clustered_hashes(n: int) -> Words:
    """Return hashes in clusters whose sizes follow a power law: few are large, most are single images.

    The members of a cluster are its center with flips at the bits that vary most; the distance to the center is at most
    half of the threshold. The largest cluster is two percent of all hashes, as an empty picture or a logo would be.
    """
    rng = np.random.default_rng(2)
    size_C = np.minimum(rng.zipf(2.0, n), n // 50)
    size_C = size_C[: np.searchsorted(np.cumsum(size_C), n) + 1]
    size_C[0] = n // 50
    center_CW = image_hashes(len(size_C))
    hash_NW = np.repeat(center_CW, size_C, axis=0)[:n]
    flips_N = rng.integers(0, DEFAULT.threshold // 2 + 1, len(hash_NW))
    # the high frequencies of a picture vary most: three flips of four are in the second half of the bits
    for flip in range(DEFAULT.threshold // 2):
        is_high_N = rng.random(len(hash_NW)) < 0.75
        bit_N = rng.integers(0, DEFAULT.bits // 2, len(hash_NW)) + np.where(is_high_N, DEFAULT.bits // 2, 0)
        flip_N = np.uint64(1) << (bit_N % WORD_BITS).astype(np.uint64)
        hash_NW[np.arange(len(hash_NW)), bit_N // WORD_BITS] ^= np.where(flip < flips_N, flip_N, np.uint64(0))
    return rng.permutation(hash_NW)


CASES: dict[str, tuple[int, Callable[[int], Words]]] = {
    "random bits, default": (DEFAULT.threshold, lambda n: random_hashes(n, DEFAULT.bits, DEFAULT.threshold // 2)),
    "random 64 bits, threshold 4": (4, lambda n: random_hashes(n, 64, 2)),
    "random 64 bits, threshold 8": (8, lambda n: random_hashes(n, 64, 4)),
    "bits of glyphs, default": (DEFAULT.threshold, image_hashes),
    "clusters of glyphs' bits, default": (DEFAULT.threshold, clustered_hashes),
}


def measure_grouping(n: int, cases: list[str]) -> list[dict[str, Any]]:
    """Return the seconds and the peak memory of the grouping for several kinds of hashes."""
    rows = []
    for name in cases:
        # a process for each case, because the peak of a process is that of all its cases
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            rows.append(pool.submit(_measure_case, n, name).result())
        print(rows[-1], flush=True)
    return rows


def _measure_case(n: int, name: str) -> dict[str, Any]:
    threshold, make = CASES[name]
    hash_NW = make(n)
    before_mib = _peak_mib()
    started_s, started_cpu_s = time.perf_counter(), _cpu_s()
    root_N = group_hashes(hash_NW, threshold, processes=PROCESSES)
    seconds, cpu_s = time.perf_counter() - started_s, _cpu_s() - started_cpu_s
    groups = int((root_N == np.arange(n)).sum())
    row = {"hashes": n, "case": name, "threshold": threshold, "groups": groups, "seconds": round(seconds, 2)}
    # of all processes: on a machine with other work, the seconds on two cores of its own are about half of these
    row |= {"cpu_s": round(cpu_s, 2), "load": round(os.getloadavg()[0], 1)}
    row |= {"before_mib": before_mib, "peak_mib": _peak_mib(), "hashes_mib": round(hash_NW.nbytes / 2**20)}
    keys = prepare_search(np.unique(hash_NW, axis=0), threshold)[1]
    return {**row, "keys": len(keys.places), "bits": len(keys.places[0]), "is_exact": keys.is_exact}


def _cpu_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak_mib() -> int:
    """Return the peak of this process and of its largest child."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(one.ru_maxrss for one in used) / 1024)


def measure_found(seeds: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return precision and recall on glyphs with copies, for every hash and several thresholds."""
    rows = []
    for kind in HASH_KINDS:
        for bits in (64, 256):
            hashed = [(train, hash_pixels(train.x_N[:, None], kind, bits)) for train in _trains(seeds)]
            for share in (0.02, 0.05, 0.08, 0.11, 0.14, 0.17, 0.2, 0.23):
                settings = HashSettings(kind, bits, round(share * bits))
                scores = np.array(
                    [pair_scores(find_duplicates(h, settings).leader_of_N, train.original_N) for train, h in hashed]
                )
                precision, recall = scores.mean(axis=0).tolist()
                row = {"hash": kind, "bits": bits, "threshold": settings.threshold}
                rows.append({**row, "precision": round(precision, 4), "recall": round(recall, 4)})
                print(rows[-1], flush=True)
    return rows


def _trains(seeds: tuple[int, ...]) -> list[Any]:
    return [make_glyphs(DUPLICATES, seed).train for seed in seeds]
