"""Report the CPU binding of every rank: each rank prints its own, and rank 0 writes all of them to the run folder."""

import sys

from torch.distributed import Store  # type: ignore[attr-defined]  # not in torch's __all__

from contract.folder.cpu_binding import CpuBinding, CpuBindings
from contract.folder.run_folder import RunFolder
from trainers.ranks.cpu_binding import read_binding
from trainers.ranks.rank_info import RankInfo


def report_binding(
    folder: RunFolder, attempt: int, rank_info: RankInfo, store: Store, *, threads: int, constraint: str | None
) -> None:
    """Print this rank's binding and publish it in the store; rank 0 waits for all ranks and writes the file."""
    own = read_binding(rank_info, threads=threads)
    sys.stdout.write(f"{describe_binding(own)}\n")  # one write, because all ranks write to one log
    sys.stdout.flush()
    store.set(f"bound/{rank_info.rank}", own.model_dump_json())
    if rank_info.rank == 0:
        ranks = [CpuBinding.model_validate_json(store.get(f"bound/{rank}")) for rank in range(rank_info.world)]
        folder.write_bindings(CpuBindings(attempt=attempt, constraint=constraint, ranks=ranks))


def describe_binding(binding: CpuBinding) -> str:
    """Return a line such as "rank 3 on knl1: cpus 4-7, 4 threads, memory prefer:1"."""
    threads = f"{binding.threads} thread{'s' if binding.threads > 1 else ''}"
    line = f"rank {binding.rank} on {binding.host}: cpus {binding.cpus}, {threads}, memory {binding.memory}"
    return "; ".join([line, *binding.notes])
