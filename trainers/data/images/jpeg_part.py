"""Cut the part of a JPEG that contains a box, without decoding it, if the JPEG has restart markers.

A JPEG is a sequence of MCUs (blocks of 8 to 32 pixels), row by row. At a restart marker the entropy coding begins anew,
so the MCUs between two markers (a segment) can be moved: the header with smaller sides and the segments that contain
the box are a JPEG themselves (ITU-T T.81, B.2.1 and E.1.4). Most of the decoding is entropy decoding, which otherwise
must read an image from its start.
"""

from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from trainers.data.images.crop import Box

START, END, ESCAPE = b"\xff\xd8", b"\xff\xd9", 0xFF
BASELINE, PROGRESSIVE, RESTART_INTERVAL, SCAN = (0xC0, 0xC1), 0xC2, 0xDD, 0xDA
FIRST_RESTART, RESTART_NUMBERS = 0xD0, 8  # markers 0xD0 to 0xD7 in turn
MOST_MARKERS = 1 << 16
# the markers' second bytes in their order
NUMBERS = (FIRST_RESTART + np.arange(MOST_MARKERS) % RESTART_NUMBERS).astype(np.uint8)


@dataclass(frozen=True)
class Layout:
    """What a JPEG's header says about the places of its MCUs."""

    width: int
    height: int
    sides: int  # offset of the two sides in the header
    mcu: tuple[int, int]  # width and height in pixels
    interval: int  # MCUs of a segment; 0: there are no restart markers
    data: int  # offset of the first segment
    is_baseline: bool

    @property
    def columns(self) -> int:
        """The number of MCUs in a row."""
        return -(-self.width // self.mcu[0])

    @property
    def rows(self) -> int:
        """The number of rows of MCUs."""
        return -(-self.height // self.mcu[1])


@dataclass(frozen=True)
class JpegPart:
    """A JPEG of a part of an image, and where the part begins."""

    content: bytearray
    left: int
    upper: int
    width: int
    height: int


def read_layout(content: bytes) -> Layout | None:
    """Return the layout of a JPEG with one scan or a progressive one; None if its header is of another kind."""
    place, frame, interval = len(START), None, 0
    while place + 4 <= len(content) and content[place] == ESCAPE:
        marker, length = content[place + 1], int.from_bytes(content[place + 2 : place + 4], "big")
        if marker in (*BASELINE, PROGRESSIVE):
            frame = place, marker
        elif marker == RESTART_INTERVAL:
            interval = int.from_bytes(content[place + 4 : place + 6], "big")
        elif marker == SCAN:
            return _layout(content, frame, interval, data=place + 2 + length) if frame else None
        place += 2 + length
    return None


def _layout(content: bytes, frame: tuple[int, int], interval: int, *, data: int) -> Layout:
    place, marker = frame
    height, width = (int.from_bytes(content[place + at : place + at + 2], "big") for at in (5, 7))
    factors = [content[place + 11 + 3 * number] for number in range(content[place + 9])]
    # the only component of a gray image is not interleaved: its MCU is one block, whatever its factors are
    mcu = (8, 8) if len(factors) == 1 else (8 * max(f >> 4 for f in factors), 8 * max(f & 15 for f in factors))
    return Layout(width, height, place + 5, mcu, interval, data, is_baseline=marker in BASELINE)


def cut_part(content: bytes, box: Box, *, margin: int) -> JpegPart | None:
    """Return the part with the box and `margin` pixels on each side; None if it has no segments to leave out.

    The margin must contain the pixels that the decoding of the box reads (the upsampling of colors reads neighbors).
    """
    layout = read_layout(content)
    if layout is None or not layout.interval or not layout.is_baseline or layout.columns % layout.interval:
        return None
    segments = _find_segments(content, layout)
    if segments is None:
        return None
    wide, high = layout.interval * layout.mcu[0], layout.mcu[1]
    left, right = _range(box[0] - margin, box[2] + margin, wide, layout.width)
    upper, lower = _range(box[1] - margin, box[3] + margin, high, layout.height)
    chosen = segments[:, upper // high : ceil(lower / high), left // wide : ceil(right / wide)]
    head = bytearray(content[: layout.data])
    sides = (lower - upper).to_bytes(2, "big") + (right - left).to_bytes(2, "big")
    head[layout.sides : layout.sides + 4] = sides
    return JpegPart(_join(content, head, chosen), left, upper, right - left, lower - upper)


def _find_segments(content: bytes, layout: Layout) -> NDArray[np.int64] | None:
    """Return start and end of every segment, of shape (2, rows, segments of a row); None if some are missing."""
    if not content.endswith(END):
        return None
    bytes_N = np.frombuffer(content, np.uint8)
    escape_N = (bytes_N[layout.data : -len(END)] == ESCAPE).nonzero()[0] + layout.data
    marker_N = escape_N[(bytes_N[escape_N + 1] & 0xF8) == FIRST_RESTART]
    per_row = layout.columns // layout.interval
    if len(marker_N) + 1 != layout.rows * per_row or len(marker_N) > MOST_MARKERS:
        return None
    edges_2S = np.empty((2, len(marker_N) + 1), np.int64)  # np.append and np.stack would take a third of this function
    edges_2S[0, 0], edges_2S[1, -1] = layout.data, len(content) - len(END)
    edges_2S[0, 1:] = marker_N + 2
    edges_2S[1, :-1] = marker_N
    return edges_2S.reshape(2, layout.rows, per_row)


def _range(first: float, last: float, step: int, side: int) -> tuple[int, int]:
    """Return the smallest range of whole steps within the side that contains first to last."""
    return max(0, floor(first)) // step * step, min(side, ceil(last / step) * step)


def _join(content: bytes, head: bytearray, chosen: NDArray[np.int64]) -> bytearray:
    """Return the JPEG of the chosen segments, with their restart markers numbered anew."""
    start_RS, end_RS = chosen
    marker = bytes((ESCAPE, FIRST_RESTART))
    rows = zip(start_RS[:, 0].tolist(), end_RS[:, -1].tolist(), strict=True)
    place_N = (end_RS - start_RS + len(marker)).ravel().cumsum()[:-1] + (len(head) - 1)
    head += marker.join([content[start:end] for start, end in rows])
    head += END
    np.frombuffer(head, np.uint8)[place_N] = NUMBERS[: len(place_N)]
    return head
