"""What one reading of a run's files brought."""

from itertools import chain
from typing import NamedTuple

from contract.folder.events import Points
from contract.folder.outputs.record import OutputsRecord
from scheduler.events.folder_state import FolderState
from scheduler.events.rank_points import RankPoints
from scheduler.events.tail import Tail
from scheduler.outcome.evidence import Evidence
from store.runs import LiveRun


class RunReport(NamedTuple):
    """What a run has reported since its cursors, and the evidence on the end of its job if that is gone."""

    run: LiveRun
    tail: Tail
    evidence: Evidence | None = None
    ranks: RankPoints = RankPoints()
    outputs: OutputsRecord | None = None  # of a run that reports its end
    last_sign: float | None = None  # when a job that is gone last wrote to its folder
    reached: int | None = None  # the last step of an attempt that ends
    state: FolderState = FolderState.USUAL

    @property
    def more(self) -> bool:
        """Whether a file goes on beyond what was read."""
        return self.tail.more or self.ranks.more

    def count_series(self) -> int:
        """Return the number of series of which there are points."""
        measured = (event.values for event in chain(self.tail.events, self.ranks.points) if isinstance(event, Points))
        return len(set(chain.from_iterable(measured)))

    @property
    def size_bytes(self) -> int:
        """The number of bytes that were read."""
        is_whole = self.state is not FolderState.USUAL  # the files were read from their beginnings
        before = 0 if is_whole else self.run.cursor + sum(self.run.rank_cursors.values())
        return self.tail.cursor + sum(self.ranks.cursors.values()) - before
