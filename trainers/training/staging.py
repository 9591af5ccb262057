"""Staging: the exchange of samples before an epoch, in a thread, while the last steps of the epoch before are taken."""

import threading

from contract.spec.batch_schedule import Position
from trainers.data.split import SamplesOf, Split, StagedSplit


class Staging:
    """Stages a split for the epoch that begins at `start_at`; all ranks begin it after the same pass.

    The samples travel in a process group of their own, so the steps' messages do not wait for them. The thread is a
    daemon, because a rank whose peers have ended must be able to end.
    """

    def __init__(self, split: StagedSplit, start_at: Position, samples_of: SamplesOf) -> None:
        self.start_at, self._split, self._samples_of = start_at, split, samples_of
        self._staged: Split | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="exchange of samples", daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Return whether `wait` returns at once."""
        return not self._thread.is_alive()

    def wait(self) -> Split:
        """Return the split for the epoch; raise the error that the exchange raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._staged is not None
        return self._staged

    def _run(self) -> None:
        try:
            self._staged = self._split.stage(self.start_at.epoch, self._samples_of)
        except BaseException as error:  # raised by `wait`, in the thread that trains
            self._error = error
