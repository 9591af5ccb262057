"""Trees of snapshots: complete or absent, whoever makes them, and nobody may write into them."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from contract.access.owners import UnsafeFolderError
from contract.snapshot.blob_store import AbsentError, BlobStore, DamagedError, blob_name
from contract.snapshot.code_tree import CODE, has_tree, make_tree, remove_tree, tree_of
from contract.snapshot.manifest import SnapshotLink, make_manifest
from tests.testing.hostile_files import IRREGULAR, plant
from tests.testing.needs import require
from tests.testing.other_user import NOBODY, open_folder_of_tests, run_as_other_user
from tests.testing.snapshots import store_content, store_tree

pytestmark = pytest.mark.ring("quick")

FILES = {"a.py": b"a\n", "sub/deep/b.sh": b"#!/bin/sh\n", "sub/é è.txt": b"", "sub/c": b"c"}
LINK = SnapshotLink(path="sub/link", target="../a.py")


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "store")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def make(store: BlobStore, runs: Path, name: str) -> Path:
    for _ in make_tree(store, runs, name):
        pass
    return tree_of(runs, name)


def drafts(runs: Path) -> list[str]:
    return [name for name in os.listdir(runs / CODE) if name.startswith(".")]


def test_a_tree_has_every_file_link_and_permission(store: BlobStore, runs: Path) -> None:
    name, _ = store_tree(store, FILES, LINK)
    tree = make(store, runs, name)
    assert {path: (tree / path).read_bytes() for path in FILES} == FILES
    assert os.readlink(tree / "sub" / "link") == "../a.py"
    modes = {path.relative_to(tree).as_posix(): path.lstat().st_mode & 0o777 for path in tree.rglob("*")}
    assert (modes["a.py"], modes["sub/deep/b.sh"], modes["sub"], modes["sub/deep"]) == (0o444, 0o555, 0o555, 0o555)
    assert (runs / CODE).stat().st_mode & 0o077 == 0
    assert drafts(runs) == []


def test_a_write_through_a_tree_does_not_reach_the_store(store: BlobStore, runs: Path) -> None:
    name, _ = store_tree(store, FILES)
    file = make(store, runs, name) / "a.py"
    file.chmod(0o644)
    file.write_text("another")
    assert store.read_blob(store.read_manifest(name).files[0].sha256, 100) == b"a\n"


def test_a_tree_that_is_there_is_taken_as_it_is(store: BlobStore, runs: Path) -> None:
    name, _ = store_tree(store, FILES)
    tree = make(store, runs, name)
    before = tree.stat().st_ino
    (store.root / "manifests" / f"{name}.json").unlink()
    assert make(store, runs, name).stat().st_ino == before


def test_many_threads_and_processes_make_one_tree(store: BlobStore, runs: Path) -> None:
    """The race: workers on several hosts submit runs of one snapshot at the same moment."""
    name, _ = store_tree(store, {f"{number % 7}/{number}": str(number).encode() for number in range(600)})
    barrier, errors = threading.Barrier(4), list[Exception]()

    def go() -> None:
        barrier.wait()
        try:
            make(store, runs, name)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=go) for _ in range(4)]
    other = multiprocessing.get_context("spawn").Process(target=make, args=(store, runs, name))
    other.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other.join()
    assert (errors, other.exitcode) == ([], 0)
    assert sum(path.is_file() for path in tree_of(runs, name).rglob("*")) == 600
    assert drafts(runs) == []


def test_a_killed_maker_leaves_no_tree_and_the_next_one_makes_it(store: BlobStore, runs: Path) -> None:
    """The fault: SIGKILL after the first portion of files."""
    name, _ = store_tree(store, {str(number): str(number).encode() for number in range(600)})
    code = (
        "import os, signal, sys; from pathlib import Path; from contract.snapshot.blob_store import BlobStore;"
        "from contract.snapshot.code_tree import make_tree;"
        "steps = make_tree(BlobStore(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3]); next(steps);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(store.root), str(runs), name])
    assert done.returncode == -signal.SIGKILL
    assert len(drafts(runs)) == 1
    assert not has_tree(runs, name)
    assert len(list(make(store, runs, name).iterdir())) == 600


def test_a_maker_that_stops_in_between_leaves_nothing(store: BlobStore, runs: Path) -> None:
    name, _ = store_tree(store, {str(number): b"x" for number in range(600)})
    steps = make_tree(store, runs, name)
    next(steps)
    steps.close()
    assert os.listdir(runs / CODE) == []


def test_a_damaged_content_makes_no_tree(store: BlobStore, runs: Path) -> None:
    name, manifest = store_tree(store, FILES)
    (store.root / blob_name(manifest.files[0].sha256)).write_bytes(b"b\n")
    with pytest.raises(DamagedError, match=r"a\.py"):
        make(store, runs, name)
    (store.root / blob_name(manifest.files[0].sha256)).unlink()
    with pytest.raises(AbsentError):
        make(store, runs, name)
    assert os.listdir(runs / CODE) == []


def test_a_hostile_manifest_in_the_store_makes_no_tree(store: BlobStore, runs: Path) -> None:
    """The fault: a job of the same account writes a manifest of its own, under the right hash."""
    store.prepare()
    entry = store_content(store, "../../escaped", b"x")
    name = store.write_manifest(make_manifest([entry]))
    with pytest.raises(DamagedError, match="not valid"):
        make(store, runs, name)
    assert not (runs.parent / "escaped").exists()


def test_a_tree_is_removed_though_nobody_may_write_into_it(store: BlobStore, runs: Path) -> None:
    name, _ = store_tree(store, FILES, LINK)
    tree = make(store, runs, name)
    remove_tree(tree)
    assert not tree.exists()
    remove_tree(tree)


PLANT = "import os, sys; os.makedirs(sys.argv[1]); open(sys.argv[1] + '/a.py', 'w').write('planted')"


def test_a_tree_that_another_user_has_put_there_is_never_taken() -> None:
    """The attack: the folder of the runs was open, and the name of the tree is known."""
    with open_folder_of_tests() as folder:
        store, runs = BlobStore(folder / "store"), folder / "runs"
        runs.mkdir()
        runs.chmod(0o777)
        name, _ = store_tree(store, FILES)
        run_as_other_user(PLANT, tree_of(runs, name))
        with pytest.raises(UnsafeFolderError, match="/runs can be written by every user"):
            make(store, runs, name)
        runs.chmod(0o755)
        with pytest.raises(UnsafeFolderError, match=r"/\.code belongs to the user nobody"):
            make(store, runs, name)
        os.chown(runs / CODE, 0, 0)
        assert (make(store, runs, name) / "a.py").read_bytes() == FILES["a.py"]
        assert os.listdir(runs / CODE) == [name]


@pytest.mark.parametrize("change", ["content", "more", "less", "mode", "FIFO", "link"])
def test_a_tree_that_is_another_one_is_made_again(store: BlobStore, runs: Path, change: str) -> None:
    name, _ = store_tree(store, FILES, LINK)
    tree = make(store, runs, name)
    (tree / "sub").chmod(0o755)
    file = tree / "sub" / "c"
    if change == "more":
        (tree / "sub" / "more").touch()
    elif change == "mode":
        file.chmod(0o666)
    else:
        file.unlink()
    if change == "content":
        file.write_bytes(b"d")
    elif change == "FIFO":
        os.mkfifo(file)
    elif change == "link":
        file.symlink_to("../a.py")
    make(store, runs, name)
    assert {path: (tree / path).read_bytes() for path in FILES} == FILES
    assert not (tree / "sub" / "more").exists()
    assert os.listdir(runs / CODE) == [name]


def test_a_right_tree_is_taken_by_another_process_without_the_store(store: BlobStore, runs: Path) -> None:
    name, _ = store_tree(store, FILES, LINK)
    before = make(store, runs, name).stat().st_ino
    (store.root / "manifests" / f"{name}.json").unlink()
    assert make(store, runs, name).stat().st_ino == before


@pytest.mark.parametrize("kind", IRREGULAR)
def test_what_is_no_folder_is_replaced_and_nothing_behind_a_link_changes(
    store: BlobStore, runs: Path, kind: str
) -> None:
    name, _ = store_tree(store, FILES)
    (runs / CODE).mkdir()
    plant(tree_of(runs, name), kind)
    assert (make(store, runs, name) / "a.py").read_bytes() == FILES["a.py"]


def test_the_folder_behind_a_link_in_the_place_of_a_tree_keeps_its_mode(store: BlobStore, runs: Path) -> None:
    name, _ = store_tree(store, FILES)
    (runs / CODE).mkdir()
    (runs.parent / "elsewhere").mkdir(mode=0o755)
    tree_of(runs, name).symlink_to(runs.parent / "elsewhere")
    before = (runs.parent / "elsewhere").stat().st_mode
    make(store, runs, name)
    assert (runs.parent / "elsewhere").stat().st_mode == before


def test_what_jobs_have_compiled_in_a_tree_is_no_change_of_it(store: BlobStore, runs: Path) -> None:
    """Forces the state: root's jobs, whom no mode keeps out, import modules of the tree; the worker begins again."""
    name, _ = store_tree(store, FILES)
    tree = make(store, runs, name)
    compiled = tree / "sub" / "__pycache__"
    (tree / "sub").chmod(0o755)
    compiled.mkdir(0o755)
    (tree / "sub").chmod(0o555)
    (compiled / "b.cpython-312.pyc").write_bytes(b"")
    inode = tree.stat().st_ino
    assert make(store, runs, name).stat().st_ino == inode
    assert (compiled / "b.cpython-312.pyc").exists()
    name, _ = store_tree(store, {**FILES, "__pycache__/own.pyc": b"of the snapshot"})
    assert make(store, runs, name).stat().st_ino == make(store, runs, name).stat().st_ino


@pytest.mark.parametrize("kind", ["folder of all", "file of all", "file of another", "link"])
def test_what_others_may_have_compiled_in_a_tree_is_removed_alone(store: BlobStore, runs: Path, kind: str) -> None:
    """The attack: another user puts a compiled module into a folder that a job with an open umask has made."""
    name, _ = store_tree(store, FILES)
    tree = make(store, runs, name)
    compiled = tree / "sub" / "__pycache__"
    (tree / "sub").chmod(0o755)
    compiled.mkdir(0o755)
    (compiled / "b.pyc").write_bytes(b"planted")
    if kind == "folder of all":
        compiled.chmod(0o777)
    elif kind == "file of all":
        (compiled / "b.pyc").chmod(0o666)
    elif kind == "file of another":
        require([] if os.geteuid() == 0 else ["needs root to give a file away"])
        os.chown(compiled / "b.pyc", NOBODY, NOBODY)
    else:
        compiled.rename(runs / "elsewhere")
        compiled.symlink_to(runs / "elsewhere")
    inode = tree.stat().st_ino
    assert make(store, runs, name).stat().st_ino == inode
    assert not os.path.lexists(compiled)
    assert (runs / "elsewhere" / "b.pyc").exists() == (kind == "link")
