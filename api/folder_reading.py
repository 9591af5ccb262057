"""Reading of a run's folder for a page: what cannot be read is absent, and the reason is kept for the page."""

from collections.abc import Callable
from typing import TypeVar

from contract.diagnosis.diagnose import EndedAttempt, diagnose_failure
from contract.folder.run_folder import RunFolder
from contract.lifecycle.failure import Failure

T = TypeVar("T")


class FolderReading:
    """The reading of one run's folder."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.reason: str | None = None  # why the first part that cannot be read is absent

    def read(self, read: Callable[[], T | None]) -> T | None:
        """Return what `read` returns; None if the file is damaged or cannot be read."""
        try:
            return read()
        except OSError as error:
            self._keep(error)
        except ValueError:
            pass  # the next attempt reports the damaged file, and replaces it
        return None

    def diagnose(self, attempt: EndedAttempt | None) -> Failure | None:
        """Return the first failure of an attempt; where its files cannot be read, what the cluster said of its end."""
        if attempt is None:
            return None
        try:
            return diagnose_failure(self._folder, attempt)
        except OSError as error:
            self._keep(error)
            return diagnose_failure(self._folder, attempt._replace(paused=True))

    def _keep(self, error: OSError) -> None:
        self.reason = self.reason or f"{error.filename or 'a file'} cannot be read: {error.strerror or error}"
