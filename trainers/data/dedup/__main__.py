"""The command `python -m trainers.data.dedup FOLDER --out OUT`: leave near-duplicate images out of training.

It writes OUT/images.txt (the images that stay), OUT/kept.txt (their number), OUT/report.html and OUT/report.json, and
prints the `data` section of a spec that trains on the images that stay. Without FOLDER, as a rank of a run, it takes
folder and options from `dedup` of the run's spec, and OUT is the folder dedup of the run.
"""

import argparse
import os
import sys
from pathlib import Path

from contract.spec.dedup.options import (
    COUNT,
    DEFAULT_THRESHOLDS,
    DOCUMENT,
    HASH_BITS,
    HASH_KINDS,
    LIST,
    MIN_HELD_OUT,
    PAGE,
    STAYS,
)
from trainers.checkpoints.durable_file import write_durably
from trainers.data.dedup.duplicates import HashSettings
from trainers.data.dedup.hashes import format_hash
from trainers.data.dedup.rank import RankLog, request_of, run_folder
from trainers.data.dedup.report import Search, make_html, make_json
from trainers.data.dedup.request import SearchRequest
from trainers.data.images.image_list import write_image_list
from trainers.data.shards.shard_error import ShardError

NO_FOLDER = "name a folder with images; only a rank of a run whose spec has `dedup` takes it from there"
OF_SPEC = "without a folder the options are those of the run's spec, and the command takes --threads alone"


def main() -> None:
    """Carry out the command; exit with status 2 if the folder has no images or the options do not fit."""
    parser = _parser()
    given, folder = parser.parse_args(), run_folder()
    is_rank = given.folder is None
    if is_rank and folder is None:
        parser.error(NO_FOLDER)
    if is_rank and given != parser.parse_args(["--threads", str(given.threads)]):
        parser.error(OF_SPEC)
    log = RankLog() if is_rank else None
    try:
        request = request_of(folder, threads=given.threads) if is_rank and folder else _request(given)
        search = request.search(log.note if log else None)
        write_results(search, request.out)
    except (OSError, ValueError, ShardError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    if log:
        log.finish(search)
    _print_summary(search, request.out.absolute())


def _request(given: argparse.Namespace) -> SearchRequest:
    threshold = DEFAULT_THRESHOLDS[given.bits] if given.threshold is None else given.threshold
    settings = HashSettings(given.hash, given.bits, threshold, given.keep, given.exact)
    return SearchRequest(given.folder, given.out, settings, given.hold_out, given.threads)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainers.data.dedup", description="Find near-duplicate images.")
    images = "an image folder, a folder of shards, or any folder with image files; default: that of the run's spec"
    parser.add_argument("folder", type=Path, nargs="?", help=images)
    parser.add_argument("--out", type=Path, default=Path("dedup"), help="folder for the results (default: dedup)")
    default = HashSettings()
    parser.add_argument("--hash", choices=HASH_KINDS, default=default.kind, help=f"default: {default.kind}")
    bits = f"default: {default.bits}"
    parser.add_argument("--bits", type=int, choices=HASH_BITS, default=default.bits, help=bits)
    defaults = ", ".join(f"{threshold} of {bits} bits" for bits, threshold in DEFAULT_THRESHOLDS.items())
    threshold = f"largest number of differing bits of two similar images (default: {defaults})"
    parser.add_argument("--threshold", type=int, metavar="BITS", help=threshold)
    keep = f"which image of a group stays (default: {default.keep})"
    parser.add_argument("--keep", choices=STAYS, default=default.keep, help=keep)
    exact = "miss no similar pair of many images at a high threshold, however long that takes"
    parser.add_argument("--exact", action="store_true", help=exact)
    parser.add_argument("--hold-out", type=_held_out, metavar="N", help="held-out images if there is no val/")
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser.add_argument("--threads", type=int, default=cpus, help="default: the cpus of this process")
    return parser


def _held_out(text: str) -> int:
    number = int(text)
    if number < MIN_HELD_OUT:
        raise argparse.ArgumentTypeError(f"{number} is less than {MIN_HELD_OUT}")
    return number


def write_results(search: Search, out: Path) -> None:
    """Write the list of the images that stay, their number for the next step of a workflow, and both reports."""
    out.mkdir(parents=True, exist_ok=True)
    settings = search.settings
    comment = f"{settings.kind} hash of {settings.bits} bits, similar up to {settings.threshold} bits"
    kept = search.duplicates.leaders.tolist()
    lines = ((format_hash(search.hashed.hash_NW[place]), search.name(place)) for place in kept)
    write_image_list(out / LIST, comment, lines)
    _write_text(out / COUNT, f"{len(kept)}\n")
    _write_text(out / DOCUMENT, make_json(search))
    _write_text(out / PAGE, make_html(search))


def _write_text(path: Path, text: str) -> None:
    content = text.encode("utf-8", errors="surrogateescape")
    write_durably(path, lambda file: file.write(content))


def _print_summary(search: Search, out: Path) -> None:
    counts, source = search.counts, search.source
    print(
        f"{counts['images']:,} images: {counts['kept']:,} stay, {counts['left_out']:,} are left out, "
        f"{counts['unreadable']:,} are unreadable; {out / PAGE} shows the groups",
        file=sys.stderr,
    )
    if source.kind is None:
        print(out / LIST)
        return
    print(
        f"data:\n  kind: {source.kind}\n  path: {source.root}\n  image_list: {out / LIST}\n"
        f"  classes: {source.classes}\n  train_samples: {counts['kept']}\n  heldout_samples: {source.heldout_samples}"
    )


if __name__ == "__main__":
    main()
