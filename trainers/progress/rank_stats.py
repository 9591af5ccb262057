"""RankStats: the step times of all ranks if the ranks share no collective, exchanged through the ranks' store."""

import json
from collections.abc import Sequence

from torch.distributed import Store  # type: ignore[attr-defined]  # not in torch's __all__


class RankStats:
    """Each rank publishes the mean times of its last steps from time to time; no rank waits for another."""

    def __init__(self, store: Store, *, rank: int, world: int) -> None:
        self._store, self.rank, self._world = store, rank, world

    def publish(self, means: Sequence[float]) -> None:
        """Publish this rank's mean seconds per step, by part."""
        self._store.set(self._key(self.rank), json.dumps(list(means)))

    def read_others(self) -> dict[int, list[float]]:
        """Return the last published means of every other rank that has published any."""
        keys = {rank: self._key(rank) for rank in range(self._world) if rank != self.rank}
        return {rank: json.loads(self._store.get(key)) for rank, key in keys.items() if self._store.check([key])}

    def _key(self, rank: int) -> str:
        return f"times/{rank}"
