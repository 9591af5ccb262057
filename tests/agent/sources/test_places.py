"""Files of a spec's relative paths: in the run's folder, else in the folder below it in which the program starts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.sources.places import Folders, Place
from tests.agent.sources.conftest import Open, append
from tests.testing.event_files import append as append_records
from tests.testing.event_files import scalars

Points = Callable[[], list[tuple[int, dict[str, float | None]]]]
LINES = {"kind": "json_lines", "file": "metrics.jsonl"}
BOARD = {"kind": "tensorboard"}
NAME = "events.out.tfevents.1700000000.host.1.0"


@pytest.fixture
def working(folder: Path) -> Path:
    path = folder / "work" / "part"
    path.mkdir(parents=True)
    return path


def test_a_file_of_the_run_folder_goes_before_one_of_the_working_folder(folder: Path, working: Path) -> None:
    place = Place(Folders(str(folder), str(working)), "out/m.jsonl")
    assert place.path == str(folder / "out" / "m.jsonl")
    (working / "out").mkdir()
    (working / "out" / "m.jsonl").touch()
    assert place.path == str(working / "out" / "m.jsonl")
    (folder / "out").mkdir()
    (folder / "out" / "m.jsonl").touch()
    assert place.path == str(folder / "out" / "m.jsonl")


@pytest.mark.parametrize("elsewhere", ["..", ".", "../other"])
def test_a_working_folder_that_is_not_below_the_run_folder_is_not_searched(folder: Path, elsewhere: str) -> None:
    (folder.parent / "m.jsonl").touch()
    place = Place(Folders(str(folder), str(folder / elsewhere)), "m.jsonl")
    assert place.path == str(folder / "m.jsonl")
    assert not place.is_shared


def test_a_name_does_not_lead_out_of_the_run_folder_from_the_working_folder(folder: Path, working: Path) -> None:
    (working / "link").symlink_to("/etc")
    assert Place(Folders(str(folder), str(working)), "link/hostname").path == str(folder / "link" / "hostname")


def test_lines_in_the_working_folder_are_read_without_those_that_came_with_the_code(
    open_sources: Open, folder: Path, working: Path, points: Points
) -> None:
    append(working / "metrics.jsonl", '{"step": 1, "loss": 9.0}\n')
    sources = open_sources(LINES, working_folder=str(working))
    append(working / "metrics.jsonl", '{"step": 2, "loss": 0.5}\n')
    sources.poll()
    assert points() == [(2, {"loss": 0.5})]
    sources = open_sources(LINES, attempt=2, working_folder=str(working))
    append(working / "metrics.jsonl", '{"step": 3, "loss": 0.5}\n')
    sources.poll()
    append(folder / "metrics.jsonl", '{"step": 4, "loss": 0.5}\n')
    sources.poll()
    assert [step for step, _ in points()] == [2, 3, 4]


def test_event_files_in_the_working_folder_have_the_names_that_they_have_there(
    open_sources: Open, folder: Path, working: Path, points: Points
) -> None:
    append_records(working / "old" / NAME, scalars(1, {"loss": 9.0}))  # of the repository
    sources = open_sources(BOARD, working_folder=str(working))
    append_records(working / "lightning_logs" / "version_0" / NAME, scalars(1, {"loss": 0.5}))
    append_records(working / "eval" / NAME, scalars(1, {"loss": 0.25}))
    append_records(folder / "work" / "other" / NAME, scalars(1, {"loss": 0.125}))
    sources.poll()
    values = {name: value for _, found in points() for name, value in found.items()}
    assert values == {"loss": 0.5, "eval/loss": 0.25, "other/loss": 0.125}
    sources = open_sources({**BOARD, "folder": "eval"}, working_folder=str(working))
    append_records(working / "eval" / "more" / NAME, scalars(2, {"loss": 0.75}))
    sources.poll()
    assert points()[-1] == (2, {"more/loss": 0.75})
