"""A worker in which a tick hangs on request: the file `hang-TICK` in the home folder, which the tick removes.

Its tools of program runs change and break off on request too (tests/testing/faults/programs/changed_tools.py). The
watchdog gives a tick less time than in production, so that chaos has time for several such faults.
"""

import os
import time
from pathlib import Path

import scheduler.app
import scheduler.watchdog
from scheduler.__main__ import main
from scheduler.app import Tick
from scheduler.context import Context
from tests.testing.faults.programs.changed_tools import ChangedTools

LIMIT_S = 30.0


def request_of(home: Path, tick: str) -> Path:
    """Return the file that asks one worker of this home to hang in `tick`."""
    return home / f"hang-{tick}"


def hanging(name: str, tick: Tick) -> Tick:
    """Return the tick so that it hangs on request."""
    request = request_of(Path(os.environ["BIGBATCH_HOME"]), name)

    def run(context: Context) -> None:
        try:
            request.unlink()
        except FileNotFoundError:
            return tick(context)
        time.sleep(3600)
        return None

    return run


if __name__ == "__main__":
    ChangedTools(Path(os.environ["BIGBATCH_HOME"])).patch()
    scheduler.app.TICKS = {
        name: (hanging(name, tick), period_s) for name, (tick, period_s) in scheduler.app.TICKS.items()
    }
    scheduler.watchdog.AT_LEAST_S = LIMIT_S
    main(["worker"])
