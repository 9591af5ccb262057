"""Sentence pairs: a source and its translation, as padded rows of word numbers.

    source_BS       the source, then END
    target_in_BT    BEGIN, then the translation: what the decoder has seen when it says the next word
    target_out_BT   the translation, then END: what it should say

A batch is as wide as its longest sentence; `bucketed` makes batches of sentences that are about equally long.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from trainers.data.split import Batch
from trainers.data.text.vocabulary import BEGIN, END, PADDING, Vocabulary

Sentence = Sequence[str]
Pair = tuple[Sequence[int], Sequence[int]]

SHUFFLE_SEED = 0  # one split for all runs, so that their losses compare
WINDOW = 50  # batches among which sentences are sorted by their length


class Pairs:
    """A split of pairs of word numbers."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        begin, end = torch.tensor([BEGIN]), torch.tensor([END])
        sources, targets = (
            [torch.tensor(side, dtype=torch.int64) for side in sides] for sides in zip(*pairs, strict=True)
        )
        self._source = [torch.cat([source, end]) for source in sources]
        self._target_in = [torch.cat([begin, target]) for target in targets]
        self._target_out = [torch.cat([target, end]) for target in targets]
        self.length_N = torch.tensor([len(source) + len(target) for source, target in pairs])

    def __len__(self) -> int:
        return len(self._source)

    def batch(self, index_B: Tensor) -> Batch:
        """Return (source_BS, target_in_BT), target_out_BT."""
        source_BS, target_in_BT, target_out_BT = (
            pad_sequence([side[number] for number in index_B.tolist()], batch_first=True, padding_value=PADDING)
            for side in (self._source, self._target_in, self._target_out)
        )
        return (source_BS, target_in_BT), target_out_BT

    def arrange(self, order_N: Tensor, batch: int) -> Tensor:
        return bucketed(order_N, self.length_N, batch=batch)


def bucketed(order_N: Tensor, length_N: Tensor, *, batch: int) -> Tensor:
    """Return an epoch's order with sentences of about one length in each batch; the batches in random order.

    It depends on `order_N` alone: within a window of batches the samples are sorted by length and cut into batches, and
    both the batches and the samples in one come as `order_N` first had them, so that no rank gets the long ones.
    """
    whole = len(order_N) // batch * batch  # what fills no batch is as random as it was
    windows = [_bucket(window_W, length_N, batch) for window_W in torch.split(order_N[:whole], batch * WINDOW)]
    return torch.cat([*windows, order_N[whole:]])


def _bucket(window_W: Tensor, length_N: Tensor, batch: int) -> Tensor:
    by_length_W = torch.argsort(length_N[window_W], stable=True)
    place_SB = by_length_W.view(-1, batch).sort(dim=1).values
    return window_W[place_SB[place_SB[:, 0].argsort()].flatten()]


def read_pairs(
    path: Path, *, heldout_samples: int, vocabulary_size: int, max_length: int
) -> tuple[Pairs, Pairs, Vocabulary]:
    """Read lines of a source, a tab and its translation, words between spaces; cut sentences to `max_length` words.

    A fixed shuffle holds pairs out. Both languages share the vocabulary, which is that of the training pairs. Raises
    ValueError that names the line which is no pair.
    """
    sentences = [_parse(path, number, line, max_length) for number, line in enumerate(_lines(path), start=1)]
    if not 0 < heldout_samples < len(sentences):
        raise ValueError(f"{heldout_samples} of the {len(sentences)} pairs in {path} cannot be held out")
    order_N = torch.randperm(len(sentences), generator=torch.Generator().manual_seed(SHUFFLE_SEED)).tolist()
    heldout, train = ([sentences[number] for number in sorted(part)] for part in _cut(order_N, heldout_samples))
    vocabulary = Vocabulary((sentence for pair in train for sentence in pair), size=vocabulary_size)
    as_numbers = [
        Pairs([(vocabulary.numbers(source), vocabulary.numbers(target)) for source, target in part])
        for part in (train, heldout)
    ]
    return as_numbers[0], as_numbers[1], vocabulary


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8 from byte {error.start} on") from error
    return text.removesuffix("\n").split("\n")  # splitlines would also cut where a sentence has U+2028 or U+0085


def _parse(path: Path, number: int, line: str, max_length: int) -> tuple[Sentence, Sentence]:
    sides = [side.split() for side in line.split("\t")]
    if len(sides) != 2 or not all(sides):
        raise ValueError(f"{path}, line {number}: a source, a tab and its translation belong here, not {line!r:.80}")
    return sides[0][:max_length], sides[1][:max_length]


def _cut(order_N: list[int], first: int) -> tuple[list[int], list[int]]:
    return order_N[:first], order_N[first:]
