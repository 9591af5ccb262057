"""Sentence pairs from a seed: the translation is the reversed source with other words.

Word w of K becomes word (a w + b) mod K, with gcd(a, K) = 1, so every word has exactly one translation.
"""

from math import gcd

import numpy as np
from numpy.random import PCG64, SeedSequence

from trainers.data.text.sentence_pairs import Pair, Pairs
from trainers.data.text.vocabulary import FIRST_WORD

SHIFT = 1


def reversal(
    vocabulary: int, *, train_samples: int, heldout_samples: int, min_length: int = 3, max_length: int = 10, seed: int
) -> tuple[Pairs, Pairs]:
    """Return a training and a held-out split of sentences of `min_length` to `max_length` words."""
    words = vocabulary - FIRST_WORD
    if words < 2:
        raise ValueError(f"a vocabulary of {vocabulary} has {words} words; at least 2 are needed")
    if not 1 <= min_length <= max_length:
        raise ValueError(f"sentences of {min_length} to {max_length} words are impossible")
    draw = np.random.Generator(PCG64(SeedSequence(seed)))
    factor = next(a for a in range(words // 2 + 1, 2 * words) if gcd(a, words) == 1)
    pairs = []
    for length in draw.integers(min_length, max_length + 1, train_samples + heldout_samples):
        source = draw.integers(words, size=length)
        pairs.append(_pair(source, factor, words))
    return Pairs(pairs[:train_samples]), Pairs(pairs[train_samples:])


def _pair(source: np.ndarray, factor: int, words: int) -> Pair:
    target = (factor * source[::-1] + SHIFT) % words
    return (source + FIRST_WORD).tolist(), (target + FIRST_WORD).tolist()
