"""A worker whose launch tick hangs: `sleep` waits in a system call, `lock` never gives up the interpreter's lock."""

import re
import sys
import time

import scheduler.app
import scheduler.watchdog
from contract.settings import Settings
from scheduler.context import Context


def hang(_: Context) -> None:
    if sys.argv[1] == "sleep":
        time.sleep(3600)
    re.match("(a*)*b", "a" * 60)


scheduler.app.TICKS = {"launch": (hang, 0.5)}
scheduler.watchdog.AT_LEAST_S = 8.0  # far longer than a busy machine delays the thread that sets the timer again
scheduler.watchdog.CHECK_S = 0.1
scheduler.watchdog.PERIODS = 2
app = scheduler.app.make_app(Settings())
app.send_task("bigbatch.launch")
app.worker_main(["worker", "--loglevel", "WARNING", "--without-gossip", "--without-mingle"])
