"""The command `python -m trainers.data.shards`: write shards of an image folder, index and check shards.

Each prints the `data` section of a spec for the shards.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from trainers.data.shards.conversion import JPEGTRAN, Conversion
from trainers.data.shards.index_tars import index_tars
from trainers.data.shards.shard_error import ShardError
from trainers.data.shards.shard_index import check_hashes, read_index
from trainers.data.shards.write_shards import write_shards

PER_TAR = 10_000


def main() -> None:
    """Carry out the command; exit with status 2 if its folder is no data set."""
    options = _parser().parse_args()
    carry_out: Callable[[argparse.Namespace], None] = options.carry_out
    try:
        carry_out(options)
        root = options.shards.absolute()
        train, heldout, classes = read_index(root)
    except (OSError, ValueError, ShardError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    print(
        f"data:\n  kind: shards\n  path: {root}\n  classes: {classes}\n"
        f"  train_samples: {len(train)}\n  heldout_samples: {len(heldout)}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainers.data.shards", description="Images in tar files.")
    commands = parser.add_subparsers(required=True)
    write = commands.add_parser("write", help="write the shards of an image folder")
    write.add_argument("folder", type=Path, help="with train/CLASS/IMAGE and val/CLASS/IMAGE, or with CLASS/IMAGE")
    write.add_argument("shards", type=Path, help="a new folder")
    write.add_argument("--hold-out", type=int, metavar="N", help="number of held-out images if there is no val/")
    write.add_argument("--longest", type=_positive, metavar="PIXELS", help="shrink images with a longer longest side")
    write.add_argument("--shortest", type=_positive, metavar="PIXELS", help="shrink images with a longer shortest side")
    write.add_argument("--quality", type=_quality, default=90, help="of JPEGs that are shrunk (default: 90)")
    pixels = "share of the images stored as pixels, which need no decoding and about seven times the bytes (default: 0)"
    write.add_argument("--pixels", type=_share, default=0.0, metavar="SHARE", help=pixels)
    markers = "give JPEGs restart markers, without loss: a crop decodes faster (needs jpegtran of libjpeg-turbo)"
    write.add_argument("--restart-markers", action="store_true", help=markers)
    write.add_argument("--per-tar", type=_positive, default=PER_TAR, metavar="N", help="images of a tar file")
    write.set_defaults(carry_out=_write)
    index = commands.add_parser("index", help="index tar files of another tool in SHARDS/train and SHARDS/val")
    index.add_argument("shards", type=Path)
    index.set_defaults(carry_out=lambda options: index_tars(options.shards, processes=options.processes))
    check = commands.add_parser("check", help="compare every tar file with its hash in the index")
    check.add_argument("shards", type=Path)
    check.set_defaults(carry_out=lambda options: check_hashes(options.shards))
    for command in (write, index):
        command.add_argument("--processes", type=_positive, default=_cpus(), metavar="N", help="default: all cpus")
    return parser


def _write(options: argparse.Namespace) -> None:
    if options.restart_markers and not Conversion.can_add_restarts():
        raise ValueError(
            f"there is no {JPEGTRAN}: install libjpeg-turbo-progs (Debian) or libjpeg-turbo-utils (Fedora)"
        )
    conversion = Conversion(
        options.longest, options.shortest, options.quality, options.pixels, has_restarts=options.restart_markers
    )
    write_shards(
        options.folder,
        options.shards,
        conversion,
        heldout_samples=options.hold_out,
        per_tar=options.per_tar,
        processes=options.processes,
    )


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not at least 1")
    return value


def _quality(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{value} is not from 1 to 100")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{value:g} is not from 0 to 1")
    return value


if __name__ == "__main__":
    main()
