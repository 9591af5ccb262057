"""Snapshots from a folder to the service: what is taken, and what is sent."""

import os
import shutil
from pathlib import Path

import httpx
import pytest

from bigbatch.client import Client
from bigbatch.snapshot import take_snapshot
from bigbatch.snapshot.attach import describe_snapshot
from bigbatch.snapshot.errors import FileChangedError, SnapshotError
from bigbatch.snapshot.upload import upload
from contract.snapshot.blob_store import BlobStore
from contract.snapshot.code_tree import make_tree, tree_of
from tests.testing.api import TOKEN
from tests.testing.command import Site
from tests.testing.snapshots import git, repository, write

FILES = {"train.py": "print(1)\n", "models/net.py": "net = 1\n", ".gitignore": "*.log\ndata/\n", "old.py": "old\n"}


class Service(httpx.BaseTransport):
    """The API on a free port; counts the bytes of the requests."""

    def __init__(self, url: str, home: Path) -> None:
        self.runs, self.store = home / "runs", BlobStore(home / "runs" / ".snapshots")
        self.client = Client(url, TOKEN, transport=self)
        self._transport = httpx.HTTPTransport()
        self.sent = self.requests = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent += len(request.content)
        self.requests += 1
        return self._transport.handle_request(request)

    def tree(self, name: str) -> Path:
        """Return the tree of a snapshot, as a job would see it."""
        for _ in make_tree(self.store, self.runs, name):
            pass
        return tree_of(self.runs, name)


@pytest.fixture
def service(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Service(site.url, site.home)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project", FILES)


def content(tree: Path) -> dict[str, str]:
    found = {}
    for folder, _, names in os.walk(tree):
        for name in names:
            path = Path(folder, name)
            found[path.relative_to(tree).as_posix()] = os.readlink(path) if path.is_symlink() else path.read_text()
    return found


def test_the_tree_is_the_working_tree_with_staged_changed_and_untracked_files(service: Service, project: Path) -> None:
    write(project, {"staged.py": "staged\n", "train.py": "print(2)\n", "new/un tracked é.py": "new\n"})
    git(project, "add", "staged.py")
    write(project, {"staged.py": "staged, then changed\n", "run.log": "ignored", "data/x.bin": "ignored"})
    (project / "old.py").unlink()
    (project / "go.sh").write_text("#!/bin/sh\n")
    (project / "go.sh").chmod(0o755)
    (project / "link.py").symlink_to("models/net.py")
    (project / "outside").symlink_to("/etc/passwd")
    taken = take_snapshot(project, service.client)
    tree = service.tree(taken.hash)
    assert content(tree) == {
        "train.py": "print(2)\n",
        "models/net.py": "net = 1\n",
        ".gitignore": FILES[".gitignore"],
        "staged.py": "staged, then changed\n",
        "new/un tracked é.py": "new\n",
        "go.sh": "#!/bin/sh\n",
        "link.py": "models/net.py",
    }
    assert os.access(tree / "go.sh", os.X_OK)
    assert (tree / "train.py").stat().st_mode & 0o777 == 0o444
    assert len(taken.left_out) == 1
    assert "outside" in taken.left_out[0]
    assert taken.source
    assert taken.source.commit == git(project, "rev-parse", "HEAD")
    assert (taken.source.branch, taken.source.staged, taken.source.is_dirty) == ("main", 1, True)


def test_a_second_snapshot_sends_next_to_nothing(service: Service, project: Path) -> None:
    write(project, {f"many/{number}.py": f"{number}\n" * 100 for number in range(200)})
    first = take_snapshot(project, service.client)
    before = service.sent
    service.sent = service.requests = 0
    assert take_snapshot(project, service.client) == first
    assert service.requests == 1
    assert service.sent < 200 < before


def test_after_an_edit_only_the_edit_is_sent(service: Service, project: Path) -> None:
    write(project, {f"many/{number}.py": f"{number}\n" * 100 for number in range(200)})
    first = take_snapshot(project, service.client)
    service.sent = 0
    write(project, {"many/7.py": "changed\n"})
    (project / "many" / "8.py").unlink()
    second = take_snapshot(project, service.client)
    assert second.hash != first.hash
    assert service.sent < 2_000
    assert (service.tree(second.hash) / "many" / "7.py").read_text() == "changed\n"
    assert not (service.tree(second.hash) / "many" / "8.py").exists()
    assert (service.tree(first.hash) / "many" / "7.py").read_text() == "7\n" * 100


def test_an_edit_of_the_same_size_and_modification_time_is_seen(service: Service, project: Path) -> None:
    old = (project / "train.py").stat()
    first = take_snapshot(project, service.client)
    (project / "train.py").write_text("print(9)\n")
    os.utime(project / "train.py", ns=(old.st_atime_ns, old.st_mtime_ns))
    assert take_snapshot(project, service.client).hash != first.hash


def test_a_service_that_lost_everything_gets_everything_again(service: Service, project: Path) -> None:
    """The fault: the store is deleted between two snapshots, while the client remembers the first one."""
    first = take_snapshot(project, service.client)
    shutil.rmtree(service.store.root)
    assert take_snapshot(project, service.client) == first
    assert (service.tree(first.hash) / "train.py").read_text() == "print(1)\n"


def test_a_subfolder_gives_the_whole_repository_and_its_place_in_it(service: Service, project: Path) -> None:
    taken = take_snapshot(project / "models", service.client)
    assert taken.subfolder == "models"
    assert taken.hash == take_snapshot(project, service.client).hash


def test_an_ignored_folder_is_a_snapshot_of_its_own(service: Service, project: Path) -> None:
    write(project, {"data/own.py": "own\n"})
    taken = take_snapshot(project / "data", service.client)
    assert (taken.subfolder, taken.source) == (None, None)
    assert content(service.tree(taken.hash)) == {"own.py": "own\n"}


def test_a_folder_without_git_is_taken_without_caches(service: Service, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    write(plain, {"a.py": "a\n", "__pycache__/a.pyc": "x", "v/pyvenv.cfg": "", "v/lib/b.py": "", "sub/c.txt": "c"})
    taken = take_snapshot(plain, service.client)
    assert content(service.tree(taken.hash)) == {"a.py": "a\n", "sub/c.txt": "c"}
    assert taken.source is None


@pytest.mark.parametrize("is_repository", [True, False])
def test_the_home_of_a_service_inside_is_left_out_and_does_not_grow_the_snapshot(
    service: Service, tmp_path: Path, is_repository: bool
) -> None:
    files = {"train.py": "print(1)\n", "here/up.lock": "12", "here/address": "{}", "here/runs/1/log.txt": "a"}
    folder = tmp_path / "project"
    repository(folder, {"train.py": files["train.py"]}) if is_repository else folder.mkdir()
    write(folder, files)
    first = take_snapshot(folder, service.client)
    write(folder, {"here/runs/2/log.txt": "b", "here/bigbatch.db": "rows"})
    assert take_snapshot(folder, service.client).hash == first.hash
    assert set(content(service.tree(first.hash))) == {"train.py"}


def test_a_repository_inside_is_taken_with_its_files(service: Service, project: Path) -> None:
    repository(project / "library", {"lib.py": "lib\n", ".gitignore": "*.o\n"})
    write(project, {"library/x.o": "ignored"})
    tree = service.tree(take_snapshot(project, service.client).hash)
    assert (tree / "library" / "lib.py").read_text() == "lib\n"
    assert not (tree / "library" / "x.o").exists()


def test_a_tree_that_is_too_large_names_its_largest_files(service: Service, project: Path) -> None:
    (project / "weights.bin").write_bytes(b"x" * 2_000_000)
    with pytest.raises(SnapshotError, match=r"2\.0 MB, more than the limit of 1 MB(.|\n)*2\.0 MB  weights\.bin"):
        take_snapshot(project, service.client, max_mb=1)
    assert service.requests == 0


def test_two_names_that_differ_by_case_are_refused_before_anything_is_sent(service: Service, project: Path) -> None:
    write(project, {"TRAIN.py": "x"})
    with pytest.raises(SnapshotError, match="ignores case"):
        take_snapshot(project, service.client)
    assert service.requests == 0


def test_a_file_that_changes_while_it_is_sent_is_taken_again(
    service: Service, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault: an editor writes a file between the hash and the upload, once and then at every try."""
    upload_module = "bigbatch.snapshot.take.upload"
    write(project, {"train.py": "print('seen by no other test')\n"})
    writes = iter(["print(3)\n"])

    def edit_then_upload(*arguments: object) -> str:
        for text in writes:
            (project / "train.py").write_text(text)
        return upload(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(upload_module, edit_then_upload)
    taken = take_snapshot(project, service.client)
    assert (service.tree(taken.hash) / "train.py").read_text() == "print(3)\n"
    write(project, {"train.py": "print('nor this')\n"})
    writes = (f"print({number})\n" for number in range(100, 200))

    def always_edit(*arguments: object) -> str:
        (project / "train.py").write_text(next(writes))
        return upload(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(upload_module, always_edit)
    with pytest.raises(FileChangedError, match=r"train\.py"):
        take_snapshot(project, service.client)


@pytest.mark.ring("gate")
def test_what_gitignore_keeps_out_is_named_with_its_size_and_caches_are_not(service: Service, project: Path) -> None:
    write(project, {"data/x.bin": "x" * 70_000, "data/below/y": "y" * 50_000, "run.log": "12345"})
    write(project, {"__pycache__/a.pyc": "cache", ".venv/pyvenv.cfg": "environment"})
    (project / ".gitignore").write_text("*.log\ndata/\n__pycache__/\n.venv/\n")
    taken = take_snapshot(project, service.client)
    assert taken.ignored == ["data/ (2 files, 0.1 MB)", "run.log (1 file, 5 bytes)"]
    line = (
        "left out: data/ (2 files, 0.1 MB), run.log (1 file, 5 bytes), by .gitignore; a program that reads them needs"
    )
    assert describe_snapshot(taken)[1].startswith(line)
    assert take_snapshot(project / "models", service.client).ignored == taken.ignored  # the whole repository is taken


@pytest.mark.ring("gate")
def test_only_the_largest_of_many_ignored_files_are_named(service: Service, project: Path) -> None:
    write(project, {f"{number}.log": "x" * number for number in range(8)})
    assert take_snapshot(project, service.client).ignored[::5] == ["7.log (1 file, 7 bytes)", "3 more"]
