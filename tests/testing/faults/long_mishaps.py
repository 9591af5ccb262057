"""Faults that last: a thread of its own carries one out, while those that leave the lab alone go on."""

import threading
import time

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
# what mends the lab, or asks Slurm for something, would end a long fault early or wait for it
NEED_THE_LAB = frozenset(
    {
        *LONG_MISHAPS,
        *("slurmctld killed", "slurmctld killed as a job starts", "slurmctld silent", "slurmdbd killed"),
        *("munge silent", "preempted", "preempted with a grace", "requeued by hand", "cancelled by hand"),
    }
)


class LongStrike:
    """The long fault that is under way, if any."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    @property
    def is_under_way(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def begin(self, on: Field, strike: Mishap) -> bool:
        self._thread = threading.Thread(target=strike, args=(on,), daemon=True)
        self._thread.start()
        return True

    def join(self) -> None:
        """Wait until what was struck has been mended."""
        if self._thread:
            self._thread.join()
