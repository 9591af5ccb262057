"""Faults that last: a thread of its own carries one out, while those that leave the lab alone go on."""

import threading
import time
from collections.abc import Callable

from tests.testing.faults import lab
from tests.testing.faults.field import Field, Mishap

HOST_DOWN_S = 40.0  # SlurmdTimeout is 30: a host that is mended earlier may leave Slurm with a job that is no more
CONTROLLER_AWAY_S = 120.0


def host_killed(on: Field) -> bool:
    lab.kill_host(on.dice.choice(lab.hosts()))
    time.sleep(HOST_DOWN_S)
    lab.mend()
    return True


def controller_away(on: Field) -> bool:
    """SIGKILL to slurmctld, which is back two minutes later: jobs end meanwhile, and nobody takes note."""
    lab.kill_daemon("slurmctld")
    time.sleep(CONTROLLER_AWAY_S)
    lab.mend()
    return True


LONG_MISHAPS: dict[str, Mishap] = {"host killed": host_killed, "slurmctld away for two minutes": controller_away}
# of each group one fault at a time: what mends the lab would end another fault early, and a worker that is killed
# cannot show that its watchdog ends it
GROUPS = (
    frozenset(
        {
            *LONG_MISHAPS,
            *("slurmctld killed", "slurmctld killed as a job starts", "slurmctld silent", "slurmdbd killed"),
            *("munge silent", "preempted", "preempted with a grace", "requeued by hand", "cancelled by hand"),
        }
    ),
    frozenset({"tick hung", "tools interrupted", "worker killed", "second worker killed"}),
)
LASTING = frozenset({*LONG_MISHAPS, "tick hung", "tools interrupted", "disk full", "slurmctld silent", "munge silent"})


class LongStrikes:
    """The long faults that are under way."""

    def __init__(self) -> None:
        self._threads: dict[str, threading.Thread] = {}

    def allows(self, name: str) -> bool:
        """Return whether a fault may begin beside those that are under way."""
        others = {other for other, thread in self._threads.items() if thread.is_alive()}
        return name not in others and not any(name in group and group & others for group in GROUPS)

    def begin(self, name: str, work: Callable[[], object]) -> bool:
        """Carry a fault out beside the others."""
        self._threads[name] = threading.Thread(target=work, daemon=True)
        self._threads[name].start()
        return True

    def join(self) -> None:
        """Wait until what was struck has been mended."""
        for thread in self._threads.values():
            thread.join()
