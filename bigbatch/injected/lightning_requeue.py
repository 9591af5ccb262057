"""Switch off Lightning's own requeue in a run: on a signal it requeues the job, and it ignores SIGTERM.

Bigbatch starts the next attempt itself, and a program that ignores SIGTERM cannot save its state before a preemption.
"""

from __future__ import annotations

import functools
import os
import sys
from types import ModuleType
from typing import Any

from bigbatch.injected.import_hook import after_import

# of the packages `lightning` and `pytorch_lightning`, which have the same class twice
MODULES = ("lightning.fabric.plugins.environments.slurm", "lightning_fabric.plugins.environments.slurm")
MESSAGE = "bigbatch: Lightning's own requeue (auto_requeue) is switched off, because Bigbatch starts the next attempt"


def switch_off_requeue() -> None:
    """Switch the requeue off once the program has loaded Lightning."""
    for name in MODULES:
        after_import(name, _extend)


def _extend(module: ModuleType) -> None:
    environment = module.SLURMEnvironment
    begin = environment.__init__

    @functools.wraps(begin)
    def begin_without_requeue(self: Any, *values: Any, **named: Any) -> None:
        begin(self, *values, **named)
        if self.auto_requeue:
            self.auto_requeue = False
            if os.environ.get("RANK", "0") == "0":
                print(MESSAGE, file=sys.stderr, flush=True)

    environment.__init__ = begin_without_requeue
