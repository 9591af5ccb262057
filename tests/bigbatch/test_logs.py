"""`bigbatch logs` in a terminal shows control characters as text, so that a log cannot control the terminal."""

import os
import pty
import subprocess
import sys

import pytest

from bigbatch.client import Client
from bigbatch.terminal.control_characters import show_control_characters
from tests.testing import seed_runs
from tests.testing.command import SPEC, Call, Site

HOSTILE = "a\x1b]0;title\x07\x1b[2J\x9b31m\tgrüße\r\n50 %\r100 %\nb\x00\x7f \u202eevil\n"
SHOWN = "a^[]0;title^G^[[2J\\u009b31m\tgrüße\n50 %\n100 %\nb^@^? \\u202eevil\n"


def test_control_characters_are_shown_as_text() -> None:
    assert show_control_characters(HOSTILE) == SHOWN
    assert show_control_characters("héllo\t日本 😀\n") == "héllo\t日本 😀\n"


def in_terminal(*words: object) -> str:
    """Return what the command writes to a terminal."""
    own, terminal = pty.openpty()
    command = [sys.executable, "-m", "bigbatch.cli", *map(str, words)]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8", "TERM": "xterm"}
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, stdin=subprocess.DEVNULL, env=environment)
    os.close(terminal)
    written = b""
    while True:
        try:
            written += os.read(own, 4096)
        except OSError:  # the command has closed the terminal
            break
    os.close(own)
    assert process.wait() == 0, written
    return written.decode()


@pytest.mark.ring("all")
@pytest.mark.parametrize(("options", "expected"), [((), SHOWN), (("--raw",), HOSTILE)])
def test_a_terminal_gets_escape_sequences_only_on_request(
    client: Client, site: Site, options: tuple[str, ...], expected: str
) -> None:
    run_id = client.create(SPEC).runs[0]
    seed_runs.log_of(site, run_id).log.write_bytes(HOSTILE.encode())
    # the terminal itself turns a line break into two characters
    assert in_terminal("logs", run_id, *options) == expected.replace("\n", "\r\n")


def test_a_file_gets_the_log_unchanged(client: Client, site: Site, call: Call) -> None:
    run_id = client.create(SPEC).runs[0]
    seed_runs.log_of(site, run_id).log.write_bytes(HOSTILE.encode())
    assert call("logs", run_id).out == HOSTILE
