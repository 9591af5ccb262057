"""What all ranks were bound to: told by each in the log, gathered by rank 0 in the run folder."""

import sys

from torch.distributed import Store  # type: ignore[attr-defined]

from contract.folder.cpu_binding import Binding, Bindings
from contract.folder.run_folder import RunFolder
from trainers.ranks import cpu_binding as binding
from trainers.ranks.rank_info import Place


def tell(folder: RunFolder, attempt: int, place: Place, store: Store, *, threads: int, constraint: str | None) -> None:
    """Say what this rank is bound to; only rank 0, who keeps it, waits for all."""
    mine = binding.told(place, threads=threads)
    sys.stdout.write(f"{in_words(mine)}\n")  # in one write: all ranks say theirs into one log
    sys.stdout.flush()
    store.set(f"bound/{place.rank}", mine.model_dump_json())
    if place.rank == 0:
        ranks = [Binding.model_validate_json(store.get(f"bound/{rank}")) for rank in range(place.world)]
        folder.keep_bindings(Bindings(attempt=attempt, constraint=constraint, ranks=ranks))


def in_words(mine: Binding) -> str:
    """ "rank 3 on knl1: cpus 4-7, 4 threads, memory prefer:1"."""
    threads = f"{mine.threads} thread{'s' if mine.threads > 1 else ''}"
    line = f"rank {mine.rank} on {mine.host}: cpus {mine.cpus}, {threads}, memory {mine.memory}"
    return "; ".join([line, *mine.notes])
