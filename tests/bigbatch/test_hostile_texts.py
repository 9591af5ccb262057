"""No text of others reaches a terminal as a command to it, or a spreadsheet as a formula."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigbatch.client import Client
from bigbatch.terminal.output import make_console, print_table
from bigbatch.terminal.streams import shown_streams
from contract.api.labels import ExperimentChange, RunChange
from contract.csv_cells import csv_cell, csv_text
from contract.folder.events import Points
from contract.lifecycle.reason import FreeText
from contract.lifecycle.state import State
from store.metrics import points
from store.session import transaction
from store.tables.runs import Run
from tests.testing.command import Call, Site

# clear the screen, name the window, a link (OSC 8), C1, and marks that reverse the text after them
CONTROLS = "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\\x9b31m\x85\u202egnp\u2066\u200f\u200e\u061c"
HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
FORMULA = "=cmd|'/C calc'!A0"
PROGRAM = {"kind": "program", "command": "python train.py {x}", "parameters": {"x": f"a{CONTROLS}"}}


@pytest.fixture
def hostile(client: Client, site: Site) -> tuple[int, int]:
    """An experiment and its first run, in which every text that others write is hostile."""
    made = client.create({"name": "n", "base": PROGRAM, "axes": {"parameters.x": [f"a{CONTROLS}", FORMULA]}})
    labels = {"notes": f"see{CONTROLS}\nnext", "add_tags": ["tag\u202egat"]}
    client.change_experiment(made.id, ExperimentChange.model_validate({**labels, "name": "name\u202eeman"}))
    client.change_run(made.runs[0], RunChange.model_validate(labels))
    with transaction(site.engine) as db:
        points.put(db, made.runs[0], [Points(attempt=1, at=1.0, step=1, values={"m\u202ex": 1.0})])
        run = db.get_one(Run, made.runs[0])
        run.latest, run.state, run.reason = {"m\u202ex": 1.0}, State.FAILED, FreeText(text=f"it failed{CONTROLS}")
        db.get_one(Run, made.runs[1]).state = State.CANCELLED
    return made.id, made.runs[0]


def test_no_command_prints_a_control_character_of_others(
    client: Client, call: Call, hostile: tuple[int, int], tmp_path: Path
) -> None:
    experiment, run = hostile
    spec = tmp_path / "spec.yaml"
    spec.write_text(json.dumps({"name": f"n{CONTROLS}", "base": PROGRAM, "axes": {"parameters.x": [CONTROLS, "b"]}}))
    commands: list[tuple[object, ...]] = [
        ("list",),
        ("search", "a", "--runs"),
        ("show", experiment),
        ("show", experiment, "--over", "parameters.x"),
        ("show", experiment, "--sort", "absent"),
        ("watch", experiment),
        ("runs", "--column", "parameters.x", "--column", "notes", "--column", "tag"),
        ("runs", "--fields"),
        ("runs", "--group-by", "parameters.x"),
        ("runs", f'tag = "{CONTROLS}'),
        ("why", run),
        ("why", experiment, "--experiment"),
        ("note", experiment),
        ("note", run, "--run"),
        ("tag", experiment),
        ("rename", experiment, "na\u202eme"),
        ("diff", run, run + 1),
        ("delete", run, "--run"),
        ("dry-run", spec),
        ("submit", spec),
    ]
    printed = {command: call(*command) for command in commands}
    texts = {command: found.out + found.err for command, found in printed.items()}
    assert {command: found[0] for command, text in texts.items() if (found := HOSTILE.findall(text))} == {}
    assert "see^[[2J" in texts["note", experiment]
    assert printed["note", experiment].out.endswith("\nnext\n")
    assert "a^[[2J" in texts["show", experiment]
    assert "it failed^[[2J" in texts["why", run]


@pytest.mark.parametrize(
    "command", ["show {0} --csv", "runs --csv --column parameters.x", "export-runs --column parameters.x"]
)
def test_what_programs_read_is_shown_only_in_a_terminal(
    hostile: tuple[int, int], call: Call, command: str, site: Site
) -> None:
    words = command.format(hostile[0]).split()
    assert CONTROLS in call(*words).out  # a file has the texts as they are
    own, terminal = pty.openpty()
    with os.fdopen(own, "rb", buffering=0) as shown:
        program = f"from bigbatch.cli import main; main({words!r})"
        with subprocess.Popen([sys.executable, "-c", program], stdout=terminal, stderr=terminal) as process:
            os.close(terminal)
            text = b"".join(_read(shown.fileno())).decode()
        assert process.returncode == 0
    assert "a^[[2J" in text
    assert not HOSTILE.search(text.replace("\r\n", "\n"))


def _read(descriptor: int) -> Iterator[bytes]:
    try:
        while found := os.read(descriptor, 1 << 16):
            yield found
    except OSError:  # the terminal is closed
        return


@pytest.mark.parametrize(
    "command", ["show {0} --csv", "runs --csv --column parameters.x", "export-runs --column parameters.x"]
)
def test_no_cell_of_a_text_is_a_formula(hostile: tuple[int, int], call: Call, command: str) -> None:
    rows = list(csv.reader(io.StringIO(call(*command.format(hostile[0]).split()).out)))
    cells = [cell for row in rows for cell in row]
    assert f"'{FORMULA}" in cells
    assert not [cell for cell in cells if cell[:1] in tuple("=+@\t\r")]


def test_the_series_of_exported_points_are_no_formulas_and_frames_have_their_names(
    client: Client, call: Call, hostile: tuple[int, int], site: Site
) -> None:
    pytest.importorskip("pandas")
    with transaction(site.engine) as db:
        points.put(db, hostile[1], [Points(attempt=1, at=1.0, step=1, values={"=1+1": -2.0, "'=x": 3.0})])
    out = call("export-points").out
    assert f"{hostile[1]},'=1+1,1,-2.0\n" in out
    assert {*client.points_to_frame()["series"]} >= {"=1+1", "'=x", "m\u202ex"}


@pytest.mark.parametrize("text", ["=1", "+x", "-x", "@x", "\tx", "\rx", "\uff1d1", "'=1", "''@x"])
def test_a_text_that_begins_as_a_formula_gets_an_apostrophe(text: str) -> None:
    assert csv_cell(text) == f"'{text}"
    assert csv_text(f"'{text}") == text


@pytest.mark.parametrize("value", [-1, -1.5, None, True, "-1.5", "+3", "1e-3", "-inf", "a=1", "'quoted'", "", "'"])
def test_numbers_and_other_texts_stay_as_they_are(value: object) -> None:
    assert csv_cell(value) == value
    if isinstance(value, str):
        assert csv_text(value) == value


def test_our_own_colors_stay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    with shown_streams():
        make_console().print(f"red{CONTROLS}", style="bold red")
        print_table((f"head{CONTROLS}",), [(f"cell{CONTROLS}",)])
    out = capsys.readouterr().out
    assert "\x1b[1;31mred^[[2J" in out
    assert not HOSTILE.search(re.sub(r"\x1b\[[0-9;]*m", "", out))
