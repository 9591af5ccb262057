"""Tests of the make targets that delete files."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.ring("quick")

ROOT = Path(__file__).parents[1]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder as `make run` leaves it."""
    for name in (".venv", ".make", ".bigbatch", "web/node_modules", "web/dist"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".bigbatch" / "bigbatch.db").write_text("experiments")
    return tmp_path


def make(checkout: Path, *words: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "BIGBATCH_"))}
    command = ["make", "-f", str(ROOT / "Makefile"), *words]
    return subprocess.run(command, cwd=checkout, env=inherited, input=answer, capture_output=True, text=True)


def test_make_clean_keeps_the_experiments_and_names_the_target_that_deletes_them(checkout: Path) -> None:
    done = make(checkout, "clean")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in checkout.iterdir()) == [".bigbatch", "web"]
    assert (checkout / ".bigbatch" / "bigbatch.db").read_text() == "experiments"
    assert "make clean-data deletes them" in done.stdout


@pytest.mark.parametrize("answer", ["", "no\n", "y\n"])
def test_make_clean_data_deletes_nothing_without_the_answer_yes(checkout: Path, answer: str) -> None:
    done = make(checkout, "clean-data", answer=answer)
    assert done.returncode != 0
    assert f"This deletes all experiments in {checkout}/.bigbatch" in done.stdout
    assert "Nothing was deleted." in done.stdout
    assert (checkout / ".bigbatch" / "bigbatch.db").exists()


@pytest.mark.parametrize(("words", "answer"), [((), "yes\n"), (("CONFIRM=yes",), "")])
def test_make_clean_data_deletes_the_experiments_after_the_answer_yes(
    checkout: Path, words: tuple[str, ...], answer: str
) -> None:
    assert make(checkout, "clean-data", *words, answer=answer).returncode == 0
    assert not (checkout / ".bigbatch").exists()
    assert (checkout / ".venv").exists()
    assert "nothing was deleted" in make(checkout, "clean-data").stdout


def test_make_clean_data_deletes_nothing_under_a_running_service(checkout: Path) -> None:
    (checkout / ".bigbatch" / "up.lock").write_text(str(os.getpid()))
    done = make(checkout, "clean-data", "CONFIRM=yes")
    assert done.returncode != 0
    assert f"A service runs on .bigbatch (process {os.getpid()}): stop it first." in done.stdout
    assert (checkout / ".bigbatch").exists()
