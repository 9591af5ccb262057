"""The working folder of a run with a code snapshot: a tree of the run's own, which later attempts find again."""

import os
import stat
from pathlib import Path

import pytest

from agent.program import work_folder
from agent.program.work_folder import COPIED_AT_NS, make_work_folder, working_folder_of
from contract.folder.events import Points
from tests.testing.event_files import append, scalars
from tests.testing.programs import events_of, program_folder, run_agent

pytestmark = pytest.mark.ring("gate")
CODE = "5e88" * 16


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return the tree of a snapshot as the scheduler makes it, but with folders that pytest can remove."""
    tree = tmp_path / ".code" / CODE
    (tree / "lars" / "conf").mkdir(parents=True)
    for name, text in {"train.py": "print(1)\n", "lars/conf/a.yaml": "lr: 1\n", "lars/run.sh": "exit 0\n"}.items():
        (tree / name).write_text(text)
        (tree / name).chmod(0o444)
    (tree / "lars/run.sh").chmod(0o555)
    (tree / "lars/train.py").symlink_to("../train.py")
    return tree


def made(tmp_path: Path, name: str = "1-abc", **spec: object) -> Path:
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    make_work_folder({"code": CODE, **spec}, folder)
    return folder / "work"


def test_the_tree_is_copied_with_its_modes_and_links_and_can_be_written(tmp_path: Path, tree: Path) -> None:
    work = made(tmp_path)
    assert (work / "lars/train.py").resolve() == work / "train.py"
    assert (work / "train.py").read_text() == "print(1)\n"
    assert stat.S_IMODE((work / "lars/run.sh").stat().st_mode) == 0o755
    assert (work / "train.py").stat().st_mtime_ns == COPIED_AT_NS
    with (work / "lars/conf/a.yaml").open("a") as file:
        file.write("steps: 2\n")
    assert (tree / "lars/conf/a.yaml").read_text() == "lr: 1\n"
    assert sorted(os.listdir(tmp_path / "1-abc")) == ["attempts", "work"]


def test_two_runs_share_no_file_and_a_second_attempt_finds_what_the_first_one_wrote(tmp_path: Path, tree: Path) -> None:
    one, other = made(tmp_path), made(tmp_path, "2-def")
    (one / "ckpt.pt").write_text("of run 1")
    assert not (other / "ckpt.pt").exists()
    assert (made(tmp_path) / "ckpt.pt").read_text() == "of run 1"


def test_the_largest_files_beyond_the_limits_of_all_copies_are_links(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "half.bin").write_bytes(b"x" * 900)
    (tree / "more.bin").write_bytes(b"x" * 901)
    monkeypatch.setattr(work_folder, "COPIED_BYTES", 1_000)
    assert links_in(made(tmp_path)) == ["more.bin"]
    monkeypatch.setattr(work_folder, "MAX_COPIES", 3)
    work = made(tmp_path, "2-def")
    assert links_in(work) == ["half.bin", "more.bin"]
    assert (work / "more.bin").resolve() == tree / "more.bin"
    copied = (tmp_path / "2-def" / work_folder.COPIED).read_text().splitlines()
    assert sorted(copied) == ["lars/conf/a.yaml", "lars/run.sh", "train.py"]


def links_in(work: Path) -> list[str]:
    return sorted(path.name for path in work.iterdir() if path.is_symlink())


def test_a_request_to_end_ends_the_copy_and_the_next_attempt_makes_it_whole(tmp_path: Path, tree: Path) -> None:
    folder = tmp_path / "1-abc"
    folder.mkdir()
    with pytest.raises(work_folder.Abandoned):
        make_work_folder({"code": CODE}, folder, lambda: False)
    assert os.listdir(folder) == []
    assert make_work_folder({"code": CODE}, folder)
    assert not make_work_folder({"code": CODE}, folder)
    assert (folder / "work/train.py").exists()


def test_event_files_that_came_with_the_code_are_no_metrics_also_if_the_first_attempt_was_killed_early(
    tmp_path: Path, tree: Path
) -> None:
    old = tree / "runs" / "old"
    old.mkdir(parents=True)
    append(old / "events.out.tfevents.1.host.1.0", scalars(1, {"loss": 9.0}))
    folder = program_folder(tmp_path, "true", code=CODE)
    assert run_agent(folder, attempt=2) == 0
    assert run_agent(folder, attempt=3) == 0
    assert [event for event in events_of(folder) if isinstance(event, Points)] == []


def test_a_draft_of_a_killed_agent_is_removed_and_made_anew(tmp_path: Path, tree: Path) -> None:
    left = tmp_path / "1-abc" / ".work.0011"
    left.mkdir(parents=True)
    (left / "train.py").write_text("half")
    work = made(tmp_path)
    assert (work / "train.py").read_text() == "print(1)\n"
    assert not left.exists()


def test_the_ranks_start_in_the_subfolder_of_the_copy(tmp_path: Path, tree: Path) -> None:
    spec = {"code": CODE, "subfolder": "lars"}
    assert working_folder_of(spec, tmp_path / "1-abc") == str(tmp_path / "1-abc/work/lars")
    assert working_folder_of({"code": CODE}, tmp_path / "1-abc") == str(tmp_path / "1-abc/work")
    assert working_folder_of({"working_folder": "/home/ann"}, tmp_path) == "/home/ann"
    assert working_folder_of({}, tmp_path) == str(tmp_path)


def test_a_program_writes_beside_its_source_and_its_next_attempt_resumes_from_there(tmp_path: Path, tree: Path) -> None:
    line = "test -e ckpt && { cat ckpt; exit 0; }; echo 'step 420' > ckpt; exit 4"
    folder = program_folder(tmp_path, line, code=CODE)
    assert run_agent(folder) == 4
    assert run_agent(folder, attempt=2) == 0
    assert (folder.path / "work/ckpt").read_text() == "step 420\n"
    assert sorted(os.listdir(tree)) == ["lars", "train.py"]


def test_a_tree_that_is_not_there_fails_the_run_with_the_reason(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, "true", code=CODE)
    assert run_agent(folder) == 1
    (failure,) = folder.read_rank_failures(1)
    assert "the working folder could not be made" in failure.reason
