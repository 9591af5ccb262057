"""A program that names no source of metrics: TensorBoard's event files in its run's folder are read."""

from pathlib import Path
from typing import Any

import pytest

from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from tests.testing.event_files import append, scalars
from tests.testing.programs import events_of, program_folder, run_agent

HOUSE = Path(__file__).parents[3]  # of `import bigbatch`


def losses(folder: RunFolder) -> list[tuple[int, Any]]:
    return [(event.step, dict(event.values)) for event in events_of(folder) if isinstance(event, Points)]


def writer(tmp_path: Path) -> str:
    """Return a command that writes an event file, as SummaryWriter does with its default folder."""
    path = tmp_path / "events.out.tfevents.1.host.1.0"
    append(path, scalars(1, {"loss": 0.5}) + scalars(2, {"loss": 0.25}))
    place = "$BIGBATCH_RUN_FOLDER/runs/Jan01_00-00-00_host"
    return f"mkdir -p {place}; cp {path} {place}; true"


def test_event_files_are_read_without_any_field(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, writer(tmp_path))
    assert run_agent(folder) == 0
    assert losses(folder) == [(1, {"loss": 0.5}), (2, {"loss": 0.25})]


def test_an_empty_list_of_sources_reads_nothing(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, writer(tmp_path), metrics=[])
    assert run_agent(folder) == 0
    assert losses(folder) == []


@pytest.mark.parametrize(
    ("fields", "words"), [({}, ""), ({"metrics": [{"kind": "tensorboard"}]}, "there is no event file")]
)
def test_only_a_source_that_was_asked_for_says_that_there_is_no_event_file(
    tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    folder = program_folder(tmp_path, "true", **fields)
    assert run_agent(folder) == 0
    log = folder.log.read_text()
    assert words in log
    assert bool(log) is bool(words)


def test_what_the_script_logs_itself_stays_the_same(tmp_path: Path) -> None:
    script = "import bigbatch; [bigbatch.log(step=step, loss=1 / step) for step in (1, 2)]"
    folder = program_folder(tmp_path, ["python3", "-c", script])
    assert run_agent(folder, environment={"PYTHONPATH": str(HOUSE)}) == 0
    assert losses(folder) == [(1, {"loss": 1.0}), (2, {"loss": 0.5})]
