"""What the run says: whole lines at the end of the events file, written by rank 0 alone."""

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from contract import metric_names as series
from contract.folder.auto_choice import Choices
from contract.folder.events import Chose, Event, Failed, Finished, Paused, Points, Resumed, Saved, Started
from contract.folder.lost_rank import LostRank
from contract.folder.rank_failure import Fall
from contract.folder.rank_times import COLUMNS
from contract.folder.run_folder import RunFolder
from trainers.checkpoints.save_result import Outcome
from trainers.progress.auto_choice_store import Kept
from trainers.progress.event_history import last_step, mend_end


class Report:
    """Says what happens in one attempt; silent on every rank but the first."""

    def __init__(self, folder: RunFolder, attempt: int, *, rank: int) -> None:
        self.folder, self._attempt = folder, attempt
        self.kept = Kept(folder, self.chose)
        self._file: int | None = None
        self._times: int | None = None
        if rank == 0:
            self._file, self._times = _opened(folder.events), _opened(folder.times)

    def started(self, hosts: Sequence[str], *, device: str, steps: int, versions: dict[str, str]) -> None:
        self._say(
            Started(
                attempt=self._attempt,
                at=time.time(),
                world=len(hosts),
                hosts=list(hosts),
                device=device,
                steps=steps,
                versions=versions,
            )
        )

    def chose(self, choices: Choices, kept: bool, note: str | None) -> None:
        self._say(Chose(attempt=self._attempt, at=time.time(), kept=kept, note=note, choices=choices))

    def resumed(self, step: int, notes: Sequence[str]) -> None:
        """Say from which checkpoint this attempt goes on, and how many steps of earlier ones are taken again."""
        if self._file is None:
            return
        self._resumed(step, notes, before=last_step(self.folder.events))

    def began(self) -> None:
        """There is no checkpoint: if an earlier attempt had taken steps, say that all are taken again."""
        if self._file is not None and (before := last_step(self.folder.events)):
            self._resumed(0, ["no checkpoint had been written"], before=before)

    def _resumed(self, step: int, notes: Sequence[str], *, before: int) -> None:
        lost = max(0, before - step)
        self._say(Resumed(attempt=self._attempt, at=time.time(), step=step, lost_steps=lost, notes=list(notes)))
        print("; ".join([f"attempt {self._attempt} goes on from step {step}", *notes]), flush=True)

    def saved(self, outcome: Outcome) -> None:
        self._say(Saved(attempt=self._attempt, at=time.time(), **asdict(outcome)))
        if outcome.error is not None and self._file is not None:
            print(f"the checkpoint at step {outcome.step} could not be written: {outcome.error}", file=sys.stderr)

    def paused(self, step: int, *, saved_step: int, reason: str) -> None:
        self._say(Paused(attempt=self._attempt, at=time.time(), step=step, saved_step=saved_step, reason=reason))

    def points(self, step: int, values: Mapping[str, float]) -> None:
        finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
        self._say(Points(attempt=self._attempt, at=time.time(), step=step, values=finite))

    def times(self, first_step: int, last_step: int, parts: Mapping[int, Sequence[float]]) -> None:
        """Write down where every rank's time went: mean seconds of a step, by rank, as in `series.PARTS`."""
        if self._times is None:
            return
        rows = [
            ",".join(map(str, (self._attempt, first_step, last_step, rank, *(f"{part_s:.6g}" for part_s in parts_P))))
            for rank, parts_P in parts.items()
        ]
        head = [] if os.fstat(self._times).st_size else [",".join(COLUMNS)]
        os.write(self._times, "".join(f"{row}\n" for row in [*head, *rows]).encode())

    def epoch(self, step: int, values: Mapping[str, float]) -> None:
        """Say what an epoch came to; the log has it as a line for people."""
        self.points(step, values)
        if self._file is not None:
            loss, accuracy = values[series.HELDOUT_LOSS], values[series.HELDOUT_ACCURACY]
            told = f"held-out loss {loss:.4g}, accuracy {accuracy:.2%}"
            print(f"epoch {values[series.EPOCH]:g}, step {step}: {told}", flush=True)

    def lost(self, rank: int, step: int, reason: str) -> None:
        """Say that the run goes on without a rank; the log has it as a line for people."""
        if self._file is None:
            return
        self.folder.note_lost(LostRank(attempt=self._attempt, rank=rank, step=step, at=time.time(), reason=reason))
        print(f"rank {rank} is lost ({reason}); the others go on from step {step}", flush=True)

    def finished(self, step: int) -> None:
        self._say(Finished(attempt=self._attempt, at=time.time(), step=step))

    def failed(self, fall: Fall) -> None:
        self._say(Failed(attempt=self._attempt, at=time.time(), rank=fall.rank, reason=fall.reason, failure=fall.kind))

    def _say(self, event: Event) -> None:
        if self._file is None:
            return
        line = event.model_dump_json().encode() + b"\n"
        # one write, unbuffered: a reader sees whole lines, and a killed rank leaves every line it said
        written = os.write(self._file, line)
        if written != len(line):
            raise OSError(f"only {written} of {len(line)} bytes of an event were written")


def _opened(path: Path) -> int:
    """A file to append whole lines to; a line that a crash tore is ended."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    mend_end(file)
    return file
