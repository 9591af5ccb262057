"""The shared folder gives trouble: a disk that is full, and a file system that shows everything half a minute late."""

import threading
import time
from pathlib import Path

import pytest

from lab.fake_slurm.state import Settings
from tests.testing.fake_slurm import carried
from tests.testing.faults.on_fake_slurm import OnStandIn, settings
from tests.testing.servers import wait_for
from tests.testing.service import running
from tests.testing.small_disk import small_disk

pytestmark = pytest.mark.flow
LATE_S = 30.0


@pytest.mark.long
def test_a_full_disk_ends_what_trains_with_that_word_and_what_waits_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """Forces the fault: the disk of the run folders fills up under a run that trains; another run is posted then."""
    with (
        small_disk(tmp_path / "runs", 2) as disk,
        carried(tmp_path / "slurm", Settings(kill_wait_s=2.0)) as stage,
        running(tmp_path / "home", settings(tmp_path) | {"BIGBATCH_RUNS": str(disk)}) as service,
    ):
        on = OnStandIn(service, stage)
        (first,) = on.post(epochs=100)
        service.wait_until(first, step=3)
        fill(disk / "filler")
        wait_for("the first run's end", lambda: on.states([first]) == ["failed"])
        assert "the folder's disk is full" in service.get(f"/runs/{first}")["reason"]
        (second,) = on.post()
        wait_for("a word on the disk", lambda: "No space left" in str(service.get(f"/runs/{second}")["moves"]))
        (disk / "filler").unlink()
        on.true_soon([first, second])
        on.all_done([second])
        on.all_is_well([first], "failed")


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            return


@pytest.mark.long
def test_a_folder_that_shows_everything_half_a_minute_late_loses_nothing(tmp_path: Path) -> None:
    """Forces the fault: what the scheduler writes reaches a job 30 s late, and what the job writes the scheduler."""
    near, far, over = tmp_path / "home" / "runs", tmp_path / "far", threading.Event()
    mirrors = [threading.Thread(target=mirror, args=(*pair, over)) for pair in ((near, far), (far, near))]
    parts = settings(tmp_path)
    program = Path(parts["BIGBATCH_SLURM_PYTHON"])
    program.write_text(program.read_text().replace('"$2" "$4"', f'"{far}/${{2##*/}}" "$4"'))
    with carried(tmp_path / "slurm", Settings()) as stage, running(tmp_path / "home", parts) as service:
        for thread in mirrors:
            thread.start()
        try:
            on = OnStandIn(service, stage)
            (short,) = on.post()
            wait_for("the first job", lambda: on.states([short]) == ["pending"])  # two at once would be an array
            (long,) = on.post(epochs=30)
            wait_for("both last words", lambda: all(on.has_finished(run_id) for run_id in (short, long)), 240)
            on.true_soon([short, long])
            on.all_done([short, long])
            assert [service.get(f"/runs/{run_id}")["attempt"] for run_id in (short, long)] == [1, 1]
        finally:
            over.set()
            for thread in mirrors:
                thread.join()


def mirror(source: Path, target: Path, over: threading.Event) -> None:
    """Show in `target` what lay in `source` half a minute ago; what came from there is not sent back."""
    seen: list[tuple[float, Path, int]] = []
    known: dict[Path, int] = {}
    while not over.wait(0.5):
        for path in source.rglob("*") if source.exists() else []:
            if path.name.startswith("."):
                continue  # a draft, or the probe of a clock: gone again in a moment
            size = path.stat().st_size if path.is_file() else 0
            if known.get(path) != size:
                known[path] = size
                seen.append((time.monotonic(), path, size))
        while seen and seen[0][0] <= time.monotonic() - LATE_S:
            _, path, size = seen.pop(0)
            shown = target / path.relative_to(source)
            if path.is_dir():
                shown.mkdir(parents=True, exist_ok=True)
            elif not shown.exists() or shown.stat().st_size < size:
                shown.parent.mkdir(parents=True, exist_ok=True)
                draft = shown.with_name(f".{shown.name}")
                draft.write_bytes(path.read_bytes()[:size])
                draft.replace(shown)  # late, but whole
