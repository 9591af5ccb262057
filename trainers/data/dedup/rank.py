"""A rank's search: its options are those of the run's spec, and its progress and figures are points of the run."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import bigbatch
from contract.spec.dedup.dedup import Dedup
from contract.spec.program.run import ProgramSpec
from contract.spec.program.section import DEDUP_FOLDER
from trainers.data.dedup.duplicates import HashSettings
from trainers.data.dedup.report import Search
from trainers.data.dedup.request import SearchRequest

PERIOD_S = 1.0


def run_folder() -> Path | None:
    """Return the folder of the run whose rank this process is; None outside a run."""
    folder = os.environ.get("BIGBATCH_RUN_FOLDER")
    return Path(folder) if folder else None


def request_of(folder: Path, *, threads: int) -> SearchRequest:
    """Return the search that the spec of a run asks for; raise ValueError if it asks for none."""
    dedup = read_dedup(folder)
    settings = HashSettings(dedup.hash, dedup.bits, dedup.similar_bits, dedup.keep, dedup.exact)
    return SearchRequest(Path(dedup.images), folder / DEDUP_FOLDER, settings, dedup.hold_out, threads)


def read_dedup(folder: Path) -> Dedup:
    """Return the section of a run's spec; raise ValueError if the run has none."""
    try:
        run = ProgramSpec.model_validate_json((folder / "spec.json").read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder} is no folder of a run of a program: {error}") from error
    if run.dedup is None:
        raise ValueError(f"the run in {folder} has no `dedup`: name a folder with images, or write the section")
    return run.dedup


class RankLog:
    """Logs the number of hashed images as the run's step, at most once a second, and the figures of the result."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._due = clock, 0.0

    def note(self, done: int, total: int) -> None:
        """Log that `done` of `total` images are hashed, unless it is too early; the last one is always logged."""
        if done < total and self._clock() < self._due:
            return
        self._due = self._clock() + PERIOD_S
        bigbatch.log(step=done, hashed_share=done / total)

    def finish(self, search: Search) -> None:
        """Log the figures of the result."""
        bigbatch.log(search.counts, step=len(search.source))
