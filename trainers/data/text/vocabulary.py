"""A vocabulary: numbers for the most frequent words of a corpus, after four special tokens."""

from collections import Counter
from collections.abc import Iterable, Sequence

PADDING, BEGIN, END, UNKNOWN = range(4)
FIRST_WORD = 4


class Vocabulary:
    """The `size` - 4 most frequent words of some sentences; ties are in alphabetical order."""

    def __init__(self, sentences: Iterable[Sequence[str]], *, size: int) -> None:
        if size <= FIRST_WORD:
            raise ValueError(f"a vocabulary of {size} cannot contain words: {FIRST_WORD} numbers are special tokens")
        counts = Counter(word for sentence in sentences for word in sentence)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        self.words = ranked[: size - FIRST_WORD]
        self._number = {word: number for number, word in enumerate(self.words, start=FIRST_WORD)}

    def __len__(self) -> int:
        return FIRST_WORD + len(self.words)

    def numbers(self, sentence: Iterable[str]) -> list[int]:
        """Return the number of each word; UNKNOWN for a word that is not in the vocabulary."""
        return [self._number.get(word, UNKNOWN) for word in sentence]
