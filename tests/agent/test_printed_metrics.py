"""Metrics of printed lines from the ranks to the run's events: none is lost, cut or mixed, however fast they come."""

import sys
from pathlib import Path

import pytest

from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from tests.testing.printing import OUTPUT, faults_of, printing
from tests.testing.programs import events_of, kinds_of, program_folder, run_agent

RANKS = {"kind": "local", "ranks_per_node": 3}
VENV = {"venv": str(Path(sys.executable).parents[1])}
STEPS = 6_000


def losses(folder: RunFolder) -> list[tuple[int, float | None]]:
    return [(event.step, event.values["loss"]) for event in events_of(folder) if isinstance(event, Points)]


def left_files(folder: RunFolder) -> list[str]:
    return [path.name for path in (folder.path / "attempts").iterdir() if "lines" in path.name]


@pytest.mark.parametrize(
    ("launcher", "before"),
    [("srun", 0), pytest.param("srun", 1_500), pytest.param("torchrun", 0, marks=pytest.mark.ring("all"))],
)
def test_ranks_that_print_quickly_lose_mix_and_cut_no_step(tmp_path: Path, launcher: str, before: int) -> None:
    steps = STEPS if not before else STEPS // 10
    fields = printing(steps, before=before, launcher=launcher, resources=RANKS, environment=VENV)
    folder = program_folder(tmp_path, **fields)
    assert run_agent(folder) == 0, folder.log.read_text()
    assert faults_of(losses(folder), steps) == []
    assert folder.log.read_text().count("loss") == steps, "the log has every line"
    assert kinds_of(folder)[-1] == "finished"
    assert left_files(folder) == []


def test_the_errors_and_the_output_of_a_rank_do_not_split_each_other(tmp_path: Path) -> None:
    line = (
        "for s in $(seq 1 200); do printf 'step '; printf '#' >&2; printf \"$s lo\"; printf '#' >&2; echo ss 0.5; done"
    )
    folder = program_folder(tmp_path, line, metrics=[OUTPUT])
    assert run_agent(folder) == 0
    assert losses(folder) == [(step, 0.5) for step in range(1, 201)]


def test_last_lines_without_their_ends_are_metrics_of_each_stream(tmp_path: Path) -> None:
    command = 'printf "step $((RANK * 2)) loss 0.5"; printf "step $((RANK * 2 + 1)) loss 0.5" >&2'
    folder = program_folder(tmp_path, command, metrics=[OUTPUT], resources=RANKS)
    assert run_agent(folder) == 0
    assert sorted(losses(folder)) == [(step, 0.5) for step in range(6)]


def test_a_process_in_the_background_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """Forces the fault: a process in a session of its own has the rank's output still."""
    folder = program_folder(tmp_path, "setsid sleep 600 & echo step 1 loss 0.5", metrics=[OUTPUT])
    assert run_agent(folder) == 0
    assert losses(folder) == [(1, 0.5)]


def test_the_last_words_of_a_rank_precede_the_agents_word_on_its_failure(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "echo step 1 loss 0.5; echo no luck >&2; exit 7", metrics=[OUTPUT])
    assert run_agent(folder) == 1
    *first, last = folder.log.read_text().splitlines()
    assert sorted(first) == ["no luck", "step 1 loss 0.5"]
    assert last.endswith("left with status 7")
    assert losses(folder) == [(1, 0.5)]


@pytest.mark.ring("all")
def test_a_lost_connection_that_passes_through_a_pipe_is_an_echo(tmp_path: Path) -> None:
    """Forces the order: a rank of torchrun says why it ends just before its end."""
    command = "if [ $RANK = 1 ]; then echo '[rank1]: Connection closed by peer' >&2; exit 1; fi; sleep 600; true"
    folder = program_folder(tmp_path, command, launcher="torchrun", metrics=[OUTPUT], resources=RANKS, environment=VENV)
    assert run_agent(folder) == 1
    assert [failure.echo for failure in folder.read_rank_failures(1) if failure.rank == 1] == [True]


def test_a_rank_has_its_own_pipes_and_no_other(tmp_path: Path) -> None:
    command = "readlink /proc/$$/fd/* > open-$RANK; true"
    folder = program_folder(tmp_path, command, metrics=[OUTPUT], resources=RANKS)
    assert run_agent(folder) == 0
    lists = [(folder.path / f"open-{rank}").read_text().split() for rank in range(3)]
    pipes = [{file for file in files if file.startswith("pipe:")} for files in lists]
    assert [len(mine) for mine in pipes] == [2] * 3, "one for its output and one for its errors"
    assert len(set().union(*pipes)) == 6


def test_without_a_source_of_output_a_rank_has_pipes_as_well_and_no_files_of_lines(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "readlink /proc/$$/fd/1 > seen; ls attempts >> seen; echo a line")
    assert run_agent(folder) == 0
    seen = (folder.path / "seen").read_text()
    assert seen.startswith("pipe:")
    assert "lines" not in seen
    assert left_files(folder) == []
    assert folder.log.read_text() == "a line\n"
