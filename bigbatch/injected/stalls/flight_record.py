"""The flight record: torch's own list of the last collectives of a rank, for the tool `torchfrtrace`."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

ENTRIES = "2000"  # collectives that torch remembers
RENAMED_IN = (2, 8)  # torch warns of the earlier variable since then
DUMPS = ("_dump_nccl_trace", "_dump_fr_trace")  # of NCCL; of all backends, from torch 2.8 on
MAX_BYTES = 1 << 24


def prepare_flight_record(torch: ModuleType, prefix: str) -> None:
    """Let torch remember its collectives, and NCCL's watchdog write them to `prefix`R."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    name = "TORCH_FR_BUFFER_SIZE" if version >= RENAMED_IN else "TORCH_NCCL_TRACE_BUFFER_SIZE"
    os.environ.setdefault(name, ENTRIES)
    os.environ.setdefault("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", prefix)


def write_flight_record(path: str) -> bool:
    """Write the record of this process; return whether torch has one. Raise OSError."""
    library: Any = sys.modules.get("torch._C._distributed_c10d")
    for name in DUMPS:
        dump = getattr(library, name, None)
        data = dump() if dump is not None else b""
        if data:
            with open(path, "wb") as file:
                file.write(data[:MAX_BYTES])
            return True
    return False
