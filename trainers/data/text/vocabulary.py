"""Words as numbers: the most frequent of a corpus, after four numbers that mean something else."""

from collections import Counter
from collections.abc import Iterable, Sequence

PADDING, BEGIN, END, UNKNOWN = range(4)
FIRST_WORD = 4


class Vocabulary:
    """The `size` - 4 most frequent words of some sentences; equally frequent ones in the order of the alphabet."""

    def __init__(self, sentences: Iterable[Sequence[str]], *, size: int) -> None:
        if size <= FIRST_WORD:
            raise ValueError(f"a vocabulary of {size} has no place for words: {FIRST_WORD} numbers are taken")
        counts = Counter(word for sentence in sentences for word in sentence)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        self.words = ranked[: size - FIRST_WORD]
        self._number = {word: number for number, word in enumerate(self.words, start=FIRST_WORD)}

    def __len__(self) -> int:
        return FIRST_WORD + len(self.words)

    def numbers(self, sentence: Iterable[str]) -> list[int]:
        return [self._number.get(word, UNKNOWN) for word in sentence]
