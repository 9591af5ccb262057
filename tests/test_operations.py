"""The commands of docs/operations.md, carried out as they stand on a home with an experiment."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.app import create_app
from bigbatch.cli import main
from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from contract.settings import Settings
from migrations.commands import upgrade
from store.session import engine_for, snapshot, transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN, post
from tests.testing.stored_runs import TO_RUNNING, move

pytestmark = pytest.mark.ring("quick")

PAGE = (Path(__file__).parents[1] / "docs" / "operations.md").read_text()
LOG = "epoch 1, step 22\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a done run and its folder, a token, and the files of a service that runs."""
    home = tmp_path / "old home"
    (home / "broker").mkdir(parents=True)
    home.chmod(0o700)
    for name in ("token", "up.lock", "broker/message"):
        (home / name).write_text(name)
    settings = Settings(home=home, token=TOKEN)
    upgrade(settings.database_url())
    with TestClient(create_app(settings), base_url="http://localhost", headers=WITH_TOKEN) as client:
        assert post(client, SPEC).status_code == 201
    with transaction(engine_for(settings.database_url())) as db:
        run = db.get_one(Run, 1)
        for state in (*TO_RUNNING, State.DONE):
            move(db, run, state)
        folder = RunFolder.of(home / "runs", 1, run.key)
    folder.path.mkdir(parents=True)
    folder.log.write_text(LOG)
    return home


def block(title: str, number: int = 0) -> list[str]:
    """Return the lines of a block of commands in the section `title`."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"(?:^    .*\n)+", section, re.M)
    return [line[4:] for line in blocks[number].splitlines()]


def carry_out(lines: list[str], **folders: Path) -> None:
    """Run the commands with other folders; those that need a service are left out."""
    own = [f"{name}='{folder}'" for name, folder in folders.items()]
    commands = [
        line
        for line in lines
        if not line.startswith(("bigbatch up", "bigbatch list")) and not re.match(r"\w+=\S", line)
    ]
    script = "\n".join(["set -e", f'PATH="{Path(sys.executable).parent}:$PATH"', *own, *commands])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check_home(home: Path) -> None:
    """Check that a service in `home` shows the run, its log and the token."""
    with TestClient(create_app(Settings(home=home, token=TOKEN)), headers=WITH_TOKEN) as client:
        assert client.get("/api/v1/runs/1").json()["state"] == "done"
        assert client.get("/api/v1/runs/1/log").json()["text"] == LOG
        assert client.get("/api/v1/experiments/1").status_code == 200
    assert (home / "token").read_text() == "token"


@pytest.mark.ring("all")
def test_a_backup_by_the_page_is_restored_by_the_page(home: Path, tmp_path: Path) -> None:
    """Forces the state of a service that runs: its newest transactions are in the log of the database alone."""
    with snapshot(engine_for(Settings(home=home).database_url())) as db:
        assert db.scalar(text("select count(*) from runs")) == 1
        assert (home / "bigbatch.db-wal").stat().st_size > 0
        carry_out(block("Back up"), home=home, backup=tmp_path / "backup")
    assert sorted(path.name for path in (tmp_path / "backup").iterdir()) == ["bigbatch.db", "files.tar"]
    restored = tmp_path / "restored"
    carry_out(block("Back up", 1), home=restored, backup=tmp_path / "backup")
    assert not (restored / "up.lock").exists()
    assert not (restored / "broker").exists()
    assert restored.stat().st_mode & 0o077 == 0
    check_home(restored)


@pytest.mark.parametrize(
    ("command", "words", "complaint"),
    [
        ("backup", ["{tmp}/full", "--home", "{home}"], "is not empty: name a new folder"),
        ("backup", ["{home}/backup", "--home", "{home}"], "is inside the home"),
        ("backup", ["{tmp}/new", "--home", "{tmp}/full"], "is not the home of a service: it has no bigbatch.db"),
        ("restore", ["{tmp}/full", "--home", "{tmp}/new"], "is not a backup: it has no bigbatch.db"),
        ("restore", ["{tmp}/good", "--home", "{home}"], "is not empty: name a new folder"),
    ],
)
def test_a_wrong_folder_is_refused_and_stays_as_it_was(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, words: list[str], complaint: str
) -> None:
    for name in ("full/file", "good/bigbatch.db", "good/files.tar"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    before = sorted(path.as_posix() for path in tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as left:
        main([command, *(word.format(tmp=tmp_path, home=home) for word in words)])
    assert left.value.code == 1
    assert complaint in capsys.readouterr().err
    assert sorted(path.as_posix() for path in tmp_path.rglob("*")) == before


def test_a_home_is_moved_by_the_page(home: Path, tmp_path: Path) -> None:
    carry_out(block("Move a home"), old=home, new=tmp_path / "new")
    assert not home.exists()
    check_home(tmp_path / "new")


def test_the_blocks_of_the_page_start_the_service_on_the_right_home() -> None:
    assert block("Back up", 1)[-1] == 'bigbatch up --home "$home"'
    assert block("Move a home")[-1] == 'bigbatch up --home "$new"'
