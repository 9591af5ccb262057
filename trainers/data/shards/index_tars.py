"""Index the tar files of another tool, such as WebDataset's, in PATH/train and PATH/val."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from trainers.data.shards.shard_index import SPLITS, IndexedTar, hash_file, write_index
from trainers.data.shards.tar_samples import read_tar


def index_tars(root: Path, *, processes: int) -> None:
    """Read every tar file and write the index; raise ShardError if one is torn or a split has no sample."""
    tars: dict[str, Sequence[IndexedTar]] = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("forkserver")) as pool:
        for split in SPLITS:
            paths = sorted((root / split).glob("*.tar"))
            tars[split] = list(pool.map(_index_tar, paths, [split] * len(paths)))
    write_index(root, tars)


def _index_tar(path: Path, split: str) -> IndexedTar:
    return IndexedTar(f"{split}/{path.name}", path.stat().st_size, hash_file(path), read_tar(path))
