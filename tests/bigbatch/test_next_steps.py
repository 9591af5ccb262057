"""Tests of what a started service prints: its home, other homes, and the commands of other terminals."""

import sys
from pathlib import Path

import pytest

from bigbatch.connection import DEFAULT_URL
from bigbatch.service.next_steps import print_commands_of_other_terminals, print_home, print_restart


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


def test_the_service_prints_its_home_and_other_homes_with_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "checkout" / ".venv"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    default, of_make = tmp_path / ".bigbatch", tmp_path / "checkout" / ".bigbatch"
    print_home(default)
    assert capsys.readouterr().out == f"Its experiments are in {default}\n"
    for home in (default, of_make):
        home.mkdir()
        (home / "bigbatch.db").touch()
    print_home(default)
    print_home(of_make)
    assert capsys.readouterr().out.splitlines() == [
        f"Its experiments are in {default}",
        f"Other experiments are in {of_make}; to see them: bigbatch up --home .bigbatch",
        f"Its experiments are in {of_make}",
        f"Other experiments are in {default}; to see them: bigbatch up --home {default}",
    ]


def test_the_end_of_the_first_run_says_how_to_start_the_service_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").touch()
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    print_restart(tmp_path / ".bigbatch")
    print_restart(Path("~/.bigbatch").expanduser())
    assert capsys.readouterr().out.splitlines() == [
        "To start the service again: . .venv/bin/activate; bigbatch up --home .bigbatch",
        "To start the service again: . .venv/bin/activate; bigbatch up",
    ]
