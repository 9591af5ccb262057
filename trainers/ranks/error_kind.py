"""Of what kind an error is: what has to be mended, as far as the error itself tells."""

import errno
import re

from contract.lifecycle.failure import FailureKind
from trainers.collectives.wire.rank_lost import RankLost

# words of PyTorch's allocators; its own class of error for GPUs has "out of memory" in every message
NO_MEMORY = re.compile(r"out of memory|can't allocate memory|cannot allocate memory|unable to mmap .* bytes", re.I)
# of gloo, NCCL's watchdog, the store, and of our own waits
TOO_LATE = re.compile(
    r"timed out waiting|timed out after|wait timeout|collective operation timeout|socket timeout"
    r"|has published no address|did not take its turn",
    re.I,
)
# of the dynamic linker and of CUDA
NOT_HERE = re.compile(
    r"cannot open shared object|undefined symbol|no nvidia driver|driver version is insufficient|no kernel image", re.I
)


def kind_of(error: BaseException) -> FailureKind:
    """The kind of an error that ended a rank; one that was raised from another is of that one's, if it says no more."""
    kind = _own_kind(error)
    return kind_of(error.__cause__) if kind is FailureKind.PYTHON_ERROR and error.__cause__ else kind


def _own_kind(error: BaseException) -> FailureKind:
    text = str(error)
    if isinstance(error, MemoryError) or NO_MEMORY.search(text) or _errno(error) == errno.ENOMEM:
        return FailureKind.OUT_OF_MEMORY
    if isinstance(error, ImportError) or NOT_HERE.search(text):
        return FailureKind.WRONG_ENVIRONMENT
    if (isinstance(error, RankLost) and error.is_silent) or TOO_LATE.search(text):
        return FailureKind.COLLECTIVE_TIMEOUT
    return FailureKind.PYTHON_ERROR


def _errno(error: BaseException) -> int | None:
    return error.errno if isinstance(error, OSError) else None
