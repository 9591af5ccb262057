"""Tar files of other tools: an index for whole samples, and clear errors for what is no sample."""

import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.testing.trainers.pictures import tree
from tests.testing.trainers.shards import contents
from trainers.data.images.image_folder import ImageList, list_images
from trainers.data.shards.index_tars import index_tars
from trainers.data.shards.shard_error import ShardError
from trainers.data.shards.shard_index import read_index
from trainers.data.shards.tar_samples import read_tar


def test_tar_files_of_another_tool_are_indexed(tmp_path: Path) -> None:
    train, _, _ = list_images(tree(tmp_path / "folder", {"train/cat": 12, "train/dog": 11, "val/cat": 1, "val/dog": 1}))
    write_foreign(tmp_path / "train" / "set-0.tar", train, range(10))
    write_foreign(tmp_path / "train" / "set-1.tar", train, range(10, 23))
    write_foreign(tmp_path / "val" / "set-0.tar", train, range(12))
    index_tars(tmp_path, processes=1)
    found = read_index(tmp_path)
    assert contents(found.train) == contents(train)
    assert found.train.path(11).endswith("train/set-1.tar:n/image-011")


def write_foreign(path: Path, files: ImageList, numbers: range) -> None:
    """Write samples with a folder in their names, capital endings, and a part that no run reads."""
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for number in numbers:
            parts = {"JPEG": files.read(number), "cls": f"{int(files.labels[number])}\n".encode(), "json": b"{}"}
            for ending, content in parts.items():
                member = tarfile.TarInfo(f"n/image-{number:03}.{ending}")
                member.size = len(content)
                tar.addfile(member, BytesIO(content))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.jpg"], r"sample a has no a.cls"),
        (["a.cls"], r"sample a has no image \(.jpg, .jpeg, .png, .ppm\)"),
        (["a.jpg", "a.cls", "a.jpg"], r"has a.jpg twice"),
        (["a.jpg", "a.png", "a.cls"], r"two images of one sample: a.png is the second"),
        (["a.jpg", "a.cls", "b.jpg", "b.cls.txt"], r"sample b has no b.cls"),
    ],
)
def test_an_incomplete_sample_is_named(tmp_path: Path, names: list[str], message: str) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, BytesIO(b"1"))
    with pytest.raises(ShardError, match=message):
        read_tar(path)


def test_a_class_that_is_no_number_and_a_torn_tar_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as tar:
        member = tarfile.TarInfo("a.cls")
        member.size = 3
        tar.addfile(member, BytesIO(b"cat"))
    with pytest.raises(ShardError, match=r"a.cls in .* is no class number but b'cat'"):
        read_tar(path)
    path.write_bytes(path.read_bytes()[:514])
    with pytest.raises(ShardError, match="is no whole tar file"):
        read_tar(path)


def test_a_split_without_tar_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(ShardError, match="train has no tar file with a sample"):
        index_tars(tmp_path, processes=1)
