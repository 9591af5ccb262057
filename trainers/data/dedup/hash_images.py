"""Hash encoded images in threads: the decoders work outside of Python's lock."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from contract.spec.dedup.options import HashKind
from trainers.data.dedup.hashes import Words, hash_pixels, side_of
from trainers.data.dedup.image_source import ImageSource
from trainers.data.images.crop import Box
from trainers.data.images.decoder import UNREADABLE, decode_square
from trainers.data.shards.shard_error import ShardError

CHUNK = 64  # images that one call of a thread hashes
Progress = Callable[[int, int], None]  # images done, and all images


@dataclass(frozen=True)
class HashedImages:
    """The hashes and pixel counts of the readable images, and why the others are not readable."""

    number_N: NDArray[np.int64]  # in the source
    hash_NW: Words
    pixels_N: NDArray[np.int64]  # width x height
    bad: list[tuple[str, str]]  # name and error


def hash_images(
    source: ImageSource, kind: HashKind, bits: int, *, threads: int, progress: Progress | None = None
) -> HashedImages:
    """Decode and hash all images."""
    side, done = side_of(bits), 0
    numbers, sizes, hashes, bad = [], [], [np.zeros((0, bits // 64), np.uint64)], []
    for chunk, found in _in_threads(source, side, threads=threads):
        good = [(number, one) for number, one in zip(chunk, found, strict=True) if isinstance(one, _Square)]
        bad += [(source.names[n], one) for n, one in zip(chunk, found, strict=True) if isinstance(one, str)]
        numbers += [number for number, _ in good]
        sizes += [one.pixels for _, one in good]
        if good:
            hashes.append(hash_pixels(np.stack([one.x_CHW for _, one in good]), kind, bits))
        done += len(chunk)
        if progress is not None:
            progress(done, len(source))
    return HashedImages(np.array(numbers, np.int64), np.concatenate(hashes), np.array(sizes, np.int64), bad)


@dataclass(frozen=True)
class _Square:
    x_CHW: NDArray[np.uint8]
    pixels: int


def _in_threads(source: ImageSource, side: int, *, threads: int) -> Iterator[tuple[range, list[_Square | str]]]:
    """Yield the chunks of numbers in order, each with its decoded images or errors; only some chunks are in memory."""
    chunks = (range(first, min(first + CHUNK, len(source))) for first in range(0, len(source), CHUNK))
    with ThreadPoolExecutor(threads) as pool:

        def submit(chunk: range) -> tuple[range, Future[list[_Square | str]]]:
            return chunk, pool.submit(lambda: [_decode(source, number, side) for number in chunk])

        waiting = deque(submit(chunk) for chunk in islice(chunks, 2 * threads))
        while waiting:
            chunk, decoded = waiting.popleft()
            yield chunk, decoded.result()
            waiting.extend(submit(chunk) for chunk in islice(chunks, 1))


def _decode(source: ImageSource, number: int, side: int) -> _Square | str:
    """Return a small square image, or the error's text."""
    size = [0, 0]

    def take_whole(width: int, height: int) -> Box:
        size[:] = width, height
        return 0, 0, width, height

    try:
        x_CHW = decode_square(source.reader.read(number), take_whole, side).numpy()
    except (*UNREADABLE, ShardError) as error:
        return str(error) or type(error).__name__
    return _Square(x_CHW, size[0] * size[1])


class ProgressLine:
    """A line on stderr of how far a command is: rewritten on a terminal, else at every tenth."""

    def __init__(self, what: str) -> None:
        self._what, self._last = what, 0

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        tenth = 10 * done // max(total, 1)
        text = f"{self._what} {done:,} of {total:,}"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{text}" + ("\n" if done == total else ""))
        elif tenth > self._last:
            print(text, file=sys.stderr, flush=True)
        self._last = tenth
