"""Classify an error by its kind, which determines what a user has to repair."""

import errno
import re

from contract.lifecycle.failure import FailureKind
from trainers.collectives.wire.rank_lost import RankLost

# texts of PyTorch's allocators; the message of torch.OutOfMemoryError always contains "out of memory"
OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|cannot allocate memory|unable to mmap .* bytes", re.I)
# texts of gloo, of NCCL's watchdog, of the store, and of this package
TIMEOUT = re.compile(
    r"timed out waiting|timed out after|wait timeout|collective operation timeout|socket timeout"
    r"|has published no address|did not reach the center",
    re.I,
)
# texts of the dynamic linker, of CUDA, of device.py and of open_files.py
WRONG_ENVIRONMENT = re.compile(
    r"cannot open shared object|undefined symbol|no nvidia driver|driver version is insufficient|no kernel image"
    r"|the spec requests GPUs|the limit of open files is",
    re.I,
)


def classify_error(error: BaseException) -> FailureKind:
    """Return the kind of an error that ended a rank, or the kind of its cause if the error itself is unspecific."""
    kind = _classify(error)
    return classify_error(error.__cause__) if kind is FailureKind.PYTHON_ERROR and error.__cause__ else kind


def _classify(error: BaseException) -> FailureKind:
    text = str(error)
    if isinstance(error, MemoryError) or OUT_OF_MEMORY.search(text) or _errno(error) == errno.ENOMEM:
        return FailureKind.OUT_OF_MEMORY
    if isinstance(error, ImportError) or WRONG_ENVIRONMENT.search(text):
        return FailureKind.WRONG_ENVIRONMENT
    if (isinstance(error, RankLost) and error.is_unresponsive) or TIMEOUT.search(text):
        return FailureKind.COLLECTIVE_TIMEOUT
    return FailureKind.PYTHON_ERROR


def _errno(error: BaseException) -> int | None:
    return error.errno if isinstance(error, OSError) else None
