"""The calls of a training script: `log`, `should_pause` and `finish`.

Outside a run they do nothing. None of them raises an exception, and a forked process has a state of its own.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from typing import Any

from bigbatch.running.environment import read_environment
from bigbatch.running.pause import Pause
from bigbatch.running.point_log import PointLog
from bigbatch.running.warning import warn_once

_is_ready = False
_points: PointLog | None = None
_pause: Pause | None = None


def log(values: Mapping[str, Any] | None = None, /, *, step: Any = None, **metrics: Any) -> bool:
    """Log measured values of one step; return whether they are in the run's folder.

    Without `step` the value counts up from 1. While the disk is full, points wait in memory and False is returned.
    """
    if not _is_ready:
        _prepare()
    if _points is None:
        return False
    try:
        return _points.log({**values, **metrics} if values is not None else metrics, step)
    except Exception as error:
        warn_once("log", f"a point could not be logged ({type(error).__name__}: {error})")
        return False


def should_pause(step: Any = None) -> bool:
    """Return whether to save a checkpoint now and leave with exit status 4, the same answer on every rank.

    Call it once per step on every rank: it counts its calls.
    """
    global _pause
    if not _is_ready:
        _prepare()
    if _points is None:
        return False
    try:
        if _pause is None:
            _pause = Pause(read_environment())
        return _pause.is_due(step, _points.last_step)
    except Exception as error:
        warn_once("should_pause", f"a pause could not be looked for ({type(error).__name__}: {error})")
        return False


def finish() -> bool:
    """Write the points that still wait in memory; return whether none is left."""
    try:
        return _points is None or _points.flush()
    except Exception as error:
        warn_once("finish", f"the last points could not be written ({type(error).__name__}: {error})")
        return False


def last_step() -> int | None:
    """Return the step of the last point of this process; None before it, and outside a run."""
    return _points.last_step if _points is not None else None


def _prepare() -> None:
    """Read the environment, at the first call: a launcher may set it after the import."""
    global _is_ready, _points
    environment = read_environment()
    _points = PointLog(environment) if environment.folder is not None else None
    _is_ready = True


def _forget() -> None:
    """Begin anew in a forked process: what waits in memory is its parent's to write."""
    global _is_ready, _points, _pause
    if _points is not None:
        _points.file.forget()
    _is_ready, _points, _pause = False, None, None


atexit.register(finish)
os.register_at_fork(after_in_child=_forget)
