"""Errors that another process's failure caused: they do not say why an attempt failed."""

import re

# errors of gloo, NCCL and the store that say that another rank has gone (also in agent/program/error_text.py)
ECHO_TEXTS = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Connection closed by remote peer",
    "Remote peer closed the connection",
    "Connection was likely closed",
    "Broken pipe",
    "remote process exit",
    "NCCL communicator was aborted",
)
# of torchrun, `accelerate launch` and mp.spawn: a process that they started has failed, and says why itself
_OF_LAUNCHER = re.compile(
    r"(?:[\w.]*\.)?(?:ChildFailedError|CalledProcessError|SignalException|ProcessRaisedException|KeyboardInterrupt)\b"
)


def is_consequence(error: str) -> bool:
    """Return whether an error, without the prefixes of its line, follows from the failure of another process."""
    return _OF_LAUNCHER.match(error) is not None or any(text in error for text in ECHO_TEXTS)
