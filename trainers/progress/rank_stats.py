"""How ranks that meet in no collective know where the others' time goes: each leaves word in the ranks' store."""

import json
from collections.abc import Sequence

from torch.distributed import Store  # type: ignore[attr-defined]


class Hearsay:
    """Every rank says now and then how long its last steps took, part by part; nobody waits for anybody's word."""

    def __init__(self, store: Store, *, rank: int, world: int) -> None:
        self._store, self.rank, self._world = store, rank, world

    def tell(self, means: Sequence[float]) -> None:
        """Leave this rank's word: the mean seconds of a step's parts."""
        self._store.set(self._key(self.rank), json.dumps(list(means)))

    def others(self) -> dict[int, list[float]]:
        """The last word of every other rank that has said one."""
        keys = {rank: self._key(rank) for rank in range(self._world) if rank != self.rank}
        return {rank: json.loads(self._store.get(key)) for rank, key in keys.items() if self._store.check([key])}

    def _key(self, rank: int) -> str:
        return f"times/{rank}"
