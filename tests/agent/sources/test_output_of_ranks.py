"""Output of several ranks: rank 0's is the run's; another rank, and the mean over the ranks, are chosen in the spec."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from contract.folder.events import Points as PointsEvent
from tests.agent.sources.conftest import Open, append, end_output, lines_of
from tests.testing.programs import events_of, program_folder, run_agent

Points = Callable[[], list[tuple[int, dict[str, float | None]]]]
OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\d+) loss (?P<loss>\S+)"}
MEAN = OUTPUT | {"rank": "mean"}
COUNTED_MEAN = {"kind": "output", "pattern": r"loss (?P<loss>\S+)", "rank": "mean"}
RANKS = {"kind": "local", "ranks_per_node": 3}


def print_steps(folder: Path, rank: int, steps: Iterable[int], attempt: int = 1) -> None:
    append(lines_of(folder, attempt, rank), "".join(f"step {step} loss {rank}\n" for step in steps))


def losses(points: Points) -> list[tuple[int, float | None]]:
    return [(step, values["loss"]) for step, values in points()]


def left_files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "attempts").iterdir() if "lines" in path.name}


@pytest.mark.parametrize(("rank", "loss"), [({}, 0.0), ({"rank": 0}, 0.0), ({"rank": 2}, 2.0), ({"rank": "mean"}, 1.0)])
def test_each_step_has_one_value_however_many_ranks_print(tmp_path: Path, rank: dict[str, object], loss: float) -> None:
    command = 'for step in 1 2 3; do echo "step $step loss $RANK"; done'
    folder = program_folder(tmp_path, command, metrics=[OUTPUT | rank], resources=RANKS)
    assert run_agent(folder) == 0, folder.log.read_text()
    found = [event for event in events_of(folder) if isinstance(event, PointsEvent)]
    assert [(event.step, event.values) for event in found] == [(step, {"loss": loss}) for step in (1, 2, 3)]
    assert left_files(folder.path) == set()


def test_a_pattern_that_only_another_rank_prints_has_a_hint(tmp_path: Path) -> None:
    command = 'if [ $RANK = 2 ]; then echo "step 1 loss 0.5"; fi'
    folder = program_folder(tmp_path, command, metrics=[OUTPUT], resources=RANKS)
    assert run_agent(folder) == 0
    log = folder.log.read_text()
    assert "none was found: the pattern was found in lines of rank 2 only; set `rank: 2`" in log
    assert left_files(folder.path) == set()


def test_a_step_has_its_mean_once_each_rank_is_beyond_it(open_sources: Open, folder: Path, points: Points) -> None:
    sources = open_sources(MEAN, ranks=3)
    print_steps(folder, 0, (1, 2, 3))
    print_steps(folder, 1, (1, 2))
    sources.poll()
    assert losses(points) == [], "rank 2 has printed nothing"
    print_steps(folder, 2, (1, 3))
    sources.poll()
    assert losses(points) == [(1, 1.0)]
    end_output(folder, ranks=3)
    sources.finish()
    sources.end(is_well=True)
    assert losses(points) == [(1, 1.0), (2, 0.5), (3, 1.0)], "of the ranks that printed the step"
    assert left_files(folder) == set()


def test_means_without_a_step_count_the_lines_of_each_rank(open_sources: Open, folder: Path, points: Points) -> None:
    for attempt in (1, 2):
        sources = open_sources(COUNTED_MEAN, attempt=attempt, ranks=2)
        append(lines_of(folder, attempt, 0), "loss 1\nloss 2\n")
        sources.poll()
        append(lines_of(folder, attempt, 1), "loss 3\n")
        sources.poll()
        append(lines_of(folder, attempt, 1), "loss 4")  # a last line without its end
        end_output(folder, attempt, ranks=2)
        sources.finish()
        sources.end(is_well=True)
    assert losses(points) == [(1, 2.0), (2, 3.0), (3, 2.0), (4, 3.0)]


def test_an_attempt_that_repeats_steps_has_new_means_of_them(open_sources: Open, folder: Path, points: Points) -> None:
    """Forces the fault: the agent is killed while steps wait for rank 1."""
    sources = open_sources(MEAN, ranks=2)
    print_steps(folder, 0, range(1, 6))
    print_steps(folder, 1, range(1, 4))
    sources.poll()
    assert losses(points) == [(1, 0.5), (2, 0.5)]
    sources = open_sources(MEAN, attempt=2, ranks=2)
    assert losses(points)[2:] == [(3, 0.5), (4, 0.0), (5, 0.0)]
    for rank in (0, 1):
        print_steps(folder, rank, range(3, 5), attempt=2)
    sources.poll()
    assert losses(points)[5:] == [(3, 0.5)]


def test_a_rank_that_prints_nothing_holds_up_a_bounded_number_of_lines(
    open_sources: Open, folder: Path, points: Points, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = open_sources(MEAN, ranks=3)
    for rank in (0, 1):
        print_steps(folder, rank, range(1, 5_001))
    sources.poll()
    assert losses(points) == [(step, 0.5) for step in range(1, 5_000)]
    print_steps(folder, 2, [7])
    end_output(folder, ranks=3)
    sources.finish()
    sources.end(is_well=True)
    assert len(points()) == 5_000
    assert "1 left out; the first one is 'rank 2: step 7': other ranks were far ahead" in capsys.readouterr().err


def test_many_lines_of_one_step_do_not_hold_up_the_source(open_sources: Open, folder: Path, points: Points) -> None:
    sources = open_sources(MEAN, ranks=2)
    print_steps(folder, 0, [1] * 20_000)
    while sources.poll():
        pass
    assert losses(points)[0] == (1, 0.0)


def test_means_that_could_not_be_written_are_the_same_in_the_next_round(folder: Path) -> None:
    """Forces the fault: the disk is full in the first round."""
    from agent.sources import Sources

    answers, written = [False, True], []

    def emit(events: Iterable[dict[str, object]]) -> bool:
        is_written = answers.pop(0)
        written.extend((event["step"], event["values"]) for event in events if is_written)
        return is_written

    sources = Sources(str(folder), [MEAN], emit, attempt=1, ranks=2)  # type: ignore[arg-type]
    for rank in (0, 1):
        print_steps(folder, rank, (1, 2))
    sources.poll()
    sources.poll()
    assert written == [(1, {"loss": 0.5})]
    assert json.loads((folder / "attempts" / "sources.json").read_text())["0:output"]["step"] == 1
