"""Tables in a terminal: a narrow one folds lines between words, and a very narrow one shows a row as a paragraph."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bigbatch.client import Client
from bigbatch.terminal.table_layout import GAP, column_widths, lay_out
from contract.lifecycle.state import State
from tests.testing import seed_runs
from tests.testing.command import SPEC, Site

HEADS = ("id", "name", "state", "progress", "runs", "best accuracy", "tags", "age")
ROWS = [
    ("12", "warm-up length at batch 1024, three seeds", "running", "45 %", "12", "97.31 %", "baseline large", "3 min"),
    ("11", "torus", "done", "100 %", "4", "-", "", "2 d"),
]
WORDS = {word for line in (HEADS, *ROWS) for cell in line for word in cell.split()}


def printed(width: int, *, may_turn: bool = True) -> str:
    out = Console(width=width, file=StringIO(), force_terminal=False)
    out.print(lay_out(HEADS, ROWS, width, may_turn=may_turn))
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


@pytest.mark.parametrize("width", [40, 50, 60, 80, 100, 250])
def test_no_word_is_broken_and_no_line_is_longer_than_the_terminal(width: int) -> None:
    text = printed(width)
    assert set(text.split()) >= WORDS
    assert max(map(len, text.splitlines())) <= width


def test_a_row_is_a_line_where_there_is_room_and_a_paragraph_where_the_words_do_not_fit() -> None:
    assert len(printed(120).splitlines()) == 1 + len(ROWS)
    narrow = printed(40).splitlines()
    assert narrow[0].split() == ["id", "12"]
    assert narrow[1].startswith("name          warm-up length at batch")
    assert "best accuracy 97.31 %" in [line.strip() for line in narrow]
    assert not any(line.startswith("tags") and "baseline" not in line for line in narrow), "an empty cell has no line"


def test_a_file_gets_rows_whatever_their_length() -> None:
    assert any(line.startswith("12 ") for line in printed(40, may_turn=False).splitlines())


@given(
    st.lists(st.lists(st.text("ab ", max_size=12), min_size=3, max_size=3), min_size=1, max_size=5), st.integers(1, 60)
)
def test_widths_hold_the_longest_words_and_fill_the_terminal_at_most(columns: list[list[str]], width: int) -> None:
    least = [max(len(word) for cell in cells for word in ["", *cell.split()]) for cells in columns]
    widths = column_widths(columns, width)
    room = width - GAP * (len(columns) - 1)
    if widths is None:
        assert sum(least) > room
    else:
        assert all(found >= needed for found, needed in zip(widths, least, strict=True))
        assert sum(widths) <= max(room, sum(least))


@pytest.mark.ring("all")
@pytest.mark.parametrize("words", [["list"], ["show", "1"], ["runs"], ["doctor", "--no-job"]])
def test_the_command_breaks_no_word_at_40_columns(words: list[str], client: Client) -> None:
    client.create(SPEC)
    text = on_terminal(words, columns=40)
    lines = [line.rstrip() for line in text.splitlines()]
    assert len(lines) > 3, text
    assert all(len(line) <= 40 for line in lines), text
    if words[0] in ("list", "show"):
        assert {"state", "name" if words == ["list"] else "values"} <= set(text.split()), text


@pytest.mark.ring("all")
@pytest.mark.parametrize("command", ["diff", "compare", "show"])
def test_long_names_and_values_of_programs_stay_within_the_terminal(command: str, client: Client, site: Site) -> None:
    name, values = "a/" * 60 + "loss", ["x" * 200, "y " * 100]
    base = {"kind": "program", "command": "echo {text}", "code": None}
    created = client.create({"name": "long", "base": base, "axes": {"parameters.text": values}})
    for run_id in created.runs:
        seed_runs.measure(site, run_id, 2, **{name: 0.5})
        seed_runs.move(site, run_id, [*seed_runs.TO_RUNNING, State.DONE], latest={name: 0.5, "b": 1, "c": 1, "d": 1})
    words = [command, str(created.id)] if command == "show" else [command, *map(str, created.runs)]
    text = on_terminal(words, columns=60)
    assert len(text.splitlines()) > 3, text
    assert all(len(line.rstrip()) <= 60 for line in text.splitlines()), text
    assert "x" * 200 in re.sub(r"[\s-]", "", text), "nothing is left out"


def on_terminal(words: list[str], *, columns: int) -> str:
    """Return what the command prints on a terminal of this width, without styles."""
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    own = {"TERM": "xterm", "NO_COLOR": "1", "BIGBATCH_SLURM": "false"}
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")} | own
    command = [sys.executable, "-m", "bigbatch.cli", *words]
    with subprocess.Popen(command, stdout=terminal, env=environment) as process:
        os.close(terminal)
        text = b"".join(iter(lambda: _part(screen), b"")).decode()
        process.wait(60)
    os.close(screen)
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _part(screen: int) -> bytes:
    try:
        return os.read(screen, 4096)
    except OSError:  # the other end is closed
        return b""
