"""The difference between ranks as a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainers.replicas.values import Value, Values

MAX_LISTED = 4  # ranks by number, and groups of ranks


@dataclass(frozen=True)
class Difference:
    """A value that differs, with the ranks that have each variant of it, and the number of further ones."""

    name: str
    variants: Sequence[tuple[Value | None, Sequence[int]]]  # None: these ranks do not have it
    further: int

    def describe(self, what: str, when: str) -> str:
        """Return what differs, such as `the replicas`, at which time, in which value, and on which ranks."""
        further = f" ({self.further} more differ)" if self.further else ""
        return f"{what} differ {when} in {self.name}{further}: {self._of_ranks()}"

    def _of_ranks(self) -> str:
        if not self.variants:
            return "they have the same values in another order"
        if len(self.variants) == sum(len(ranks) for _, ranks in self.variants) > 2 and not self._are_shown:
            return "each rank has another value"
        parts = [self._part(number) for number in range(min(len(self.variants), MAX_LISTED))]
        if len(self.variants) > MAX_LISTED:
            parts.append(f"and {len(self.variants) - MAX_LISTED} more groups of ranks have others")
        return ", ".join(parts)

    def _part(self, number: int) -> str:
        value, ranks = self.variants[number]
        words = list_ranks(ranks)
        has = "has" if len(ranks) == 1 else "have"
        if value is None:
            return f"{words} {has} none"
        if self._are_shown:
            return f"{words} {has} {value.shown}"
        return f"{words} {has} one value" if number == 0 else f"{words} another"

    @property
    def _are_shown(self) -> bool:
        """Whether the variants differ in what a message shows."""
        shown = [None if value is None else value.shown for value, _ in self.variants]
        return len(set(shown)) == len(shown)


def first_difference(of_ranks: Sequence[Values], ranks: Sequence[int]) -> Difference:
    """Return the first of the values, by their order on the first ranks, that differs; the ranks' values differ."""
    names = list(dict.fromkeys(name for values in of_ranks for name in values))
    differing = [name for name in names if len({values.get(name) for values in of_ranks}) > 1]
    if not differing:
        return Difference("the order of the weights", (), 0)
    groups: dict[Value | None, list[int]] = {}
    for rank, values in zip(ranks, of_ranks, strict=True):
        groups.setdefault(values.get(differing[0]), []).append(rank)
    return Difference(differing[0], list(groups.items()), len(differing) - 1)


def list_ranks(ranks: Sequence[int]) -> str:
    """Return such as `rank 1`, `ranks 0 and 2`, or `ranks 0, 1, 2, 3 and 60 more`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    *first, last = [str(rank) for rank in ranks]
    if len(ranks) > MAX_LISTED:
        first, last = first[:MAX_LISTED], f"{len(ranks) - MAX_LISTED} more"
    return f"ranks {', '.join(first)} and {last}"
