"""`make land`: main moves to a commit alone whose gate passed on a clean clone."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.gate import land, unstable


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository on the branch `next`, one commit ahead of `main`, whose gate passes where a file says so."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "user.name", "a")
    git(tmp_path, "config", "user.email", "a@example.org")
    (tmp_path / ".ci").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a").touch()
    (tmp_path / ".gitignore").write_text(".make/\n")
    (tmp_path / ".ci" / "run").write_text("true\n")
    commit(tmp_path)
    git(tmp_path, "checkout", "-q", "-b", "next")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", git(folder, "branch", "--show-current"), "--allow-empty")
    return git(folder, "rev-parse", "HEAD")


def test_main_moves_to_a_commit_whose_gate_passed_on_a_clean_clone(repository: Path) -> None:
    (repository / ".ci" / "run").write_text('test ! -e uncommitted && test -z "$(git status --porcelain)"\n')
    landed = commit(repository)
    (repository / "uncommitted").touch()
    land.land(repository)
    assert git(repository, "rev-parse", "main") == landed
    assert (repository / land.LANDED).read_text() == f"{landed}\n"


def test_main_stays_where_the_gate_fails(repository: Path) -> None:
    before = git(repository, "rev-parse", "main")
    (repository / ".ci" / "run").write_text("exit 2\n")
    commit(repository)
    with pytest.raises(land.LandError, match="the gate failed"):
        land.land(repository)
    assert git(repository, "rev-parse", "main") == before
    assert not (repository / land.LANDED).exists()


def test_a_branch_that_lacks_a_commit_of_main_does_not_land(repository: Path) -> None:
    commit(repository)
    git(repository, "checkout", "-q", "main")
    ahead = commit(repository)
    git(repository, "checkout", "-q", "next")
    with pytest.raises(land.LandError, match="rebase on main first"):
        land.land(repository)
    assert git(repository, "rev-parse", "main") == ahead


def test_unstable_tests_of_the_clone_are_listed_in_the_working_copy(repository: Path) -> None:
    entry = "\\n## tests/test_a.py::test_b, 2026-01-01\\n"
    (repository / ".ci" / "run").write_text(f'printf "{entry}" >> {unstable.LIST}\n')
    (repository / unstable.LIST).write_text(unstable.HEAD)
    commit(repository)
    land.land(repository)
    assert unstable.count(repository) == 1


def test_the_gate_of_a_clone_sees_no_setting_of_the_checkout(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / ".ci" / "run").write_text('env > "$(git config remote.origin.url)/.make/environment"\n')
    (repository / ".make").mkdir()
    commit(repository)
    for name in ("BIGBATCH_HOME", "PYTEST_ADDOPTS", "PYTHONPATH", "MAKEFLAGS", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "of the checkout")
    monkeypatch.setenv("PATH", f"{repository / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    land.land(repository)
    seen = (repository / ".make" / "environment").read_text()
    assert "of the checkout" not in seen
    assert ".venv" not in seen
    assert "CI=true" in seen
