"""The agent reads the sources of a program while it runs, and to their last line when it ends."""

from pathlib import Path

from contract.folder.events import Finished, Points, Resumed
from contract.folder.run_folder import RunFolder
from tests.testing.programs import agent, events_of, kinds_of, program_folder, run_agent, wait_for_line
from tests.testing.servers import wait_for

OUTPUT = {"kind": "output", "pattern": r"step (?P<step>\d+) loss (?P<loss>\S+)"}
LINES = {"kind": "json_lines", "file": "metrics.jsonl"}
SCRIPT = """
import bigbatch
for step in range(1, 6):
    assert bigbatch.log(step=step, loss=1 / step)
if bigbatch.should_pause(5):
    raise SystemExit(4)
"""


def losses(folder: RunFolder) -> list[tuple[int, int]]:
    return [(event.attempt, event.step) for event in events_of(folder) if isinstance(event, Points)]


def test_the_last_line_of_a_program_is_stored_before_its_end(tmp_path: Path) -> None:
    command = """for step in 1 2 3; do echo "step $step loss 0.5"; echo '{"lr": 0.1}' >> metrics.jsonl; done"""
    folder = program_folder(tmp_path, command, metrics=[OUTPUT, LINES])
    assert run_agent(folder) == 0
    events = events_of(folder)
    assert [event.kind for event in events] == ["started", *["points"] * 6, "finished"]
    assert {name for event in events if isinstance(event, Points) for name in event.values} == {"loss", "lr"}
    assert isinstance(events[-1], Finished)
    assert events[-1].step == 3


def test_metrics_are_read_while_the_program_runs(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "echo step 1 loss 0.5; sleep 600; true", metrics=[OUTPUT])
    with agent(folder):
        wait_for("the point", lambda: "points" in kinds_of(folder))


def test_the_next_attempt_reports_the_lost_steps_of_an_unmodified_program(tmp_path: Path) -> None:
    """Forces the fault: the agent and its rank are killed after lines that the agent has not read, or is just reading.

    A kill between an event and its cursor has the event written a second time, and stored once.
    """
    command = """
if [ $BIGBATCH_ATTEMPT = 1 ]; then steps="1 2 3 4 5 6"; else steps="3 4 5 6 7 8"; fi
for step in $steps; do echo "step $step loss 0.5"; done
if [ $BIGBATCH_ATTEMPT = 1 ]; then sleep 600; fi
"""
    folder = program_folder(tmp_path, command, metrics=[OUTPUT])
    with agent(folder):
        wait_for_line(folder, "step 6 loss 0.5")
    assert run_agent(folder, 2) == 0
    (resumed,) = [event for event in events_of(folder) if isinstance(event, Resumed)]
    assert (resumed.attempt, resumed.step, resumed.lost_steps) == (2, 2, 4)
    assert list(dict.fromkeys(losses(folder))) == [*((1, n) for n in range(1, 7)), *((2, n) for n in range(3, 9))]


def test_a_program_that_fails_after_its_decision_to_pause_has_failed(tmp_path: Path) -> None:
    """Forces the fault: the disk is full when the checkpoint is saved, after `should_pause` has returned true."""
    folder = program_folder(tmp_path, """echo '{"step": 12}' > attempts/1.paused; exit 1""")
    assert run_agent(folder) == 1
    assert kinds_of(folder)[-1] == "failed"
