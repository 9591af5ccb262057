"""Test what `bigbatch up` prints for the user's other terminals."""

import sys
from pathlib import Path

import pytest

from bigbatch.commands.up import print_commands_of_other_terminals
from bigbatch.connection import DEFAULT_URL


def test_the_service_prints_how_other_terminals_find_the_command_and_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a venv" / "bin").mkdir(parents=True)
    (tmp_path / "a venv" / "bin" / "activate").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "a venv"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    default = Path("~/.bigbatch").expanduser()
    print_commands_of_other_terminals(DEFAULT_URL, default)
    print_commands_of_other_terminals("http://127.0.0.1:8001", Path("/a home"))
    activate = "In other terminals: . 'a venv/bin/activate'"
    settings = "export BIGBATCH_HOME='/a home'; export BIGBATCH_URL=http://127.0.0.1:8001"
    assert capsys.readouterr().out == f"{activate}\n{activate}; {settings}\n"
    (tmp_path / "bigbatch").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    print_commands_of_other_terminals(DEFAULT_URL, default)
    assert capsys.readouterr().out == ""
