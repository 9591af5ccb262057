"""Sentence pairs: a source and its translation, as padded rows of word numbers.

    source_BS       the source, then END
    target_in_BT    BEGIN, then the translation: the decoder's input
    target_out_BT   the translation, then END: the decoder's target

A batch is as wide as its longest sentence; `bucket_by_length` makes batches of sentences of similar length.
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

SHUFFLE_SEED = 0  # the same split in all runs, so that their losses are comparable
WINDOW = 50  # batches within which sentences are sorted by length


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

    def target_numbers(self) -> Tensor:
        """Return the lengths: the targets are a tensor for each pair."""
        return self.length_N

    def batch(self, index_B: Tensor) -> Batch:
        """Return (source_BS, target_in_BT), target_out_BT."""
        source_BS, target_in_BT, target_out_BT = (
            pad_sequence([side[number] for number in index_B.tolist()], batch_first=True, padding_value=PADDING)
            for side in (self._source, self._target_in, self._target_out)
        )
        return (source_BS, target_in_BT), target_out_BT

    def arrange(self, order_N: Tensor, batch: int) -> Tensor:
        """Return the epoch's order with sentences of similar length in each batch."""
        return bucket_by_length(order_N, self.length_N, batch=batch)


def bucket_by_length(order_N: Tensor, length_N: Tensor, *, batch: int) -> Tensor:
    """Return an epoch's order with sentences of similar length in each batch, and the batches in random order.

    The samples of a window of batches are sorted by length and cut into batches. Both the batches and the samples of a
    batch stay in the order of `order_N`, so that no rank gets only long sentences. The result depends on nothing else.
    """
    whole = len(order_N) // batch * batch  # samples of an incomplete batch keep their order
    windows = [_bucket(window_W, length_N, batch) for window_W in torch.split(order_N[:whole], batch * WINDOW)]
    return torch.cat([*windows, order_N[whole:]])


def _bucket(window_W: Tensor, length_N: Tensor, batch: int) -> Tensor:
    by_length_W = torch.argsort(length_N[window_W], stable=True)
    position_SB = by_length_W.view(-1, batch).sort(dim=1).values
    return window_W[position_SB[position_SB[:, 0].argsort()].flatten()]


def read_pairs(
    path: Path, *, heldout_samples: int, vocabulary_size: int, max_length: int
) -> tuple[Pairs, Pairs, Vocabulary]:
    """Read lines with a source, a tab and its translation; truncate sentences to `max_length` words.

    A fixed shuffle selects the held-out pairs. Both languages share the vocabulary of the training pairs. Raises
    ValueError with the number of a line that is not a pair.
    """
    sentences = [_parse(path, number, line, max_length) for number, line in enumerate(_lines(path), start=1)]
    if not 0 < heldout_samples < len(sentences):
        raise ValueError(f"{heldout_samples} of the {len(sentences)} pairs in {path} cannot be held out")
    order_N = torch.randperm(len(sentences), generator=torch.Generator().manual_seed(SHUFFLE_SEED)).tolist()
    heldout, train = ([sentences[number] for number in sorted(part)] for part in _split(order_N, heldout_samples))
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
        raise ValueError(f"{path} is not valid UTF-8 at byte {error.start}") from error
    return text.removesuffix("\n").split("\n")  # splitlines would also split at U+2028 and U+0085


def _parse(path: Path, number: int, line: str, max_length: int) -> tuple[Sentence, Sentence]:
    sides = [side.split() for side in line.split("\t")]
    if len(sides) != 2 or not all(sides):
        raise ValueError(f"{path}, line {number}: expected a source, a tab and its translation, not {line!r:.80}")
    return sides[0][:max_length], sides[1][:max_length]


def _split(order_N: list[int], first: int) -> tuple[list[int], list[int]]:
    return order_N[:first], order_N[first:]
