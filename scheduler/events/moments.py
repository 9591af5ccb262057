"""When what a run reports happened: by the clock of its job's host, within what the service knows.

The moment of reading proves nothing: a service that was off reads hours of a run at once. The clock of a host may be
minutes wrong, so no moment is earlier than the run's last move or later than the present; and where the start of an
attempt lies outside, the same shift moves its later events. How long an attempt ran is no difference of such moments
where the job has measured it itself: a clock may be set while it runs.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from contract.folder.files.untrusted_file import UnreadableFileError, stat_file
from contract.folder.run_folder import EVENTS, LOG, RunFolder
from scheduler.outcome.evidence import Evidence


class Moments:
    """The moments of what one reading of a run's files brought, in order."""

    def __init__(self, since: datetime, until: datetime, shift_s: float) -> None:
        """`since`: the run's last move; `shift_s`: of the attempt's events, once it has started."""
        self._since, self._until, self.shift_s = since, until, shift_s

    def of_start(self, at: float) -> datetime:
        """Return when an attempt started, and keep by how much its clock is wrong at least."""
        bounded = self._bound(_moment(at))
        self.shift_s = (bounded - _moment(at)).total_seconds()
        return bounded

    def of_event(self, at: float) -> datetime:
        """Return when another event of the attempt happened."""
        return self._bound(_moment(at) + timedelta(seconds=self.shift_s))

    def of_end(self, end: datetime | None) -> datetime:
        """Return when an attempt ended; the present moment counts where that is not known."""
        return self._bound(self._until if end is None else end)

    def _bound(self, at: datetime) -> datetime:
        self._since = max(self._since, min(at, self._until))
        return self._since


def end_of(evidence: Evidence, last_sign: float | None) -> datetime | None:
    """Return when a job ended: as its cluster says, else with its last sign of life; None if nothing shows it."""
    if evidence.gone.end.at is not None:
        return evidence.gone.end.at
    return None if last_sign is None else _moment(last_sign)


def read_last_sign(folder: RunFolder, attempt: int) -> float | None:
    """Return when a job last wrote to the files of its run, by the file server's clock; None without any."""
    written = []
    for name in (EVENTS, LOG, f"attempts/{attempt}.beat", f"attempts/{attempt}.end"):
        with suppress(FileNotFoundError, UnreadableFileError):
            written.append(stat_file(folder.path, name).st_mtime)
    return max(written, default=None)


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
