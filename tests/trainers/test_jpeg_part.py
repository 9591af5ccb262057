"""A part of a JPEG with restart markers has the pixels of the whole, and what has no segments is left whole."""

from collections.abc import Callable, Sequence
from io import BytesIO

import numpy as np
import pytest
import simplejpeg
from PIL import Image

from tests.testing.trainers.photographs import needs_jpegtran, photograph
from trainers.data.images import decoder
from trainers.data.images.crop import UNITS, Box, center_square, fixed_square, random_box
from trainers.data.images.decoder import decode_square
from trainers.data.images.image_draws import draw_units
from trainers.data.images.jpeg_part import JpegPart, cut_part, read_layout
from trainers.data.shards.conversion import Conversion


def with_markers(width: int, height: int, **how: object) -> bytes:
    """Return a JPEG with a restart marker after every second MCU, or after as many as `how` says."""
    return photograph(width, height, **{"restart_marker_blocks": 2, **how})


def part_of(content: bytes, box: Box) -> JpegPart:
    part = cut_part(content, box, margin=2)
    assert part is not None
    return part


def units(number: int) -> list[float]:
    drawn: list[float] = draw_units(0, 0, np.array([number]), UNITS)[0].tolist()
    return drawn


@pytest.mark.parametrize(
    ("width", "height", "how"),
    [
        (200, 150, {}),  # 13 MCUs in a row are no multiple of 2, so this one is left whole
        (224, 150, {}),
        (250, 187, {"restart_marker_blocks": 4}),
        (240, 180, {"restart_marker_blocks": 15}),  # a row each
        (200, 130, {"restart_marker_blocks": 1}),
        (224, 150, {"subsampling": 0}),
        (224, 150, {"subsampling": 1}),
        (224, 150, {"optimize": True, "quality": 30}),
    ],
)
def test_every_box_has_the_pixels_of_the_whole_image(width: int, height: int, how: dict[str, object]) -> None:
    content = with_markers(width, height, **how)
    whole = simplejpeg.decode_jpeg(content)
    shares = []
    for number in range(60):
        left, upper, right, lower = (int(edge) for edge in random_box(width, height, units(number)))
        part = cut_part(content, (left, upper, right, lower), margin=2)
        if part is None:
            assert (width, how) == (200, {})
            continue
        decoded = simplejpeg.decode_jpeg(part.content)
        assert decoded.shape == (part.height, part.width, 3)
        own = decoded[upper - part.upper : lower - part.upper, left - part.left : right - part.left]
        assert np.array_equal(own, whole[upper:lower, left:right]), (left, upper, right, lower)
        shares.append(len(part.content) / len(content))
    assert not shares or np.mean(shares) < 0.9


def test_a_gray_image_has_blocks_of_eight_pixels_whatever_its_factors_are() -> None:
    content = with_markers(64, 48, mode="L", restart_marker_blocks=4)
    layout = read_layout(content)
    assert layout is not None
    assert (layout.mcu, layout.columns, layout.rows, layout.interval) == ((8, 8), 8, 6, 4)
    part = part_of(content, (40, 20, 50, 30))
    assert (part.left, part.upper, part.width, part.height) == (32, 16, 32, 16)
    whole = simplejpeg.decode_jpeg(content)
    assert np.array_equal(simplejpeg.decode_jpeg(part.content), whole[16:32, 32:64])


def test_the_part_at_the_edges_of_an_image_has_its_last_pixels() -> None:
    content = with_markers(250, 187, restart_marker_blocks=4)
    part = part_of(content, (200, 150, 250, 187))
    assert (part.left + part.width, part.upper + part.height) == (250, 187)
    assert simplejpeg.decode_jpeg(part.content).shape == (part.height, part.width, 3)


@pytest.mark.parametrize("size", [16, 40, 100])
@pytest.mark.parametrize("choose", [random_box, fixed_square, lambda width, height, _: center_square(width, height)])
def test_a_square_is_the_same_from_a_part_and_from_the_whole(
    monkeypatch: pytest.MonkeyPatch, size: int, choose: Callable[[int, int, Sequence[float]], Box]
) -> None:
    """The sizes need reductions of 1, 2, 4 and 8, and boxes with fractions of a pixel, whose sums may round by one."""
    content = with_markers(480, 352, restart_marker_blocks=3)
    for number in range(12):
        unit_U = units(number)
        box = choose(480, 352, unit_U)
        from_part = decode_square(content, lambda *_, box=box: box, size)
        with monkeypatch.context() as patch:
            patch.setattr(decoder, "cut_part", lambda *_, **__: None)
            difference_CHW = (from_part.int() - decode_square(content, lambda *_, box=box: box, size).int()).abs()
        assert difference_CHW.max() <= 1, number
        assert difference_CHW.count_nonzero() <= 5, number


@pytest.mark.parametrize(
    "content",
    [
        photograph(224, 150),
        photograph(224, 150, progressive=True),
        with_markers(224, 150, progressive=True),
        with_markers(224, 150)[:-2],
        with_markers(224, 150).replace(b"\xff\xd3", b"\xff\x00", 1),
        b"\xff\xd8\xff\xd9",
        b"\xff\xd8\xff\xe0",
    ],
)
def test_what_has_no_segments_or_not_all_is_left_whole(content: bytes) -> None:
    assert cut_part(content, (10, 10, 60, 60), margin=2) is None


@needs_jpegtran
@pytest.mark.parametrize(("width", "interval"), [(500, 4), (336, 3), (300, 1), (160, 2)])
@pytest.mark.parametrize("how", [{}, {"progressive": True}, {"mode": "L"}])
def test_markers_are_added_without_a_change_of_a_pixel(width: int, interval: int, how: dict[str, object]) -> None:
    content = photograph(width, 200, **how)
    stored, ending = Conversion(has_restarts=True)(content, "jpg")
    layout = read_layout(stored)
    assert layout is not None
    assert ending == "jpg"
    assert layout.columns % layout.interval == 0
    assert how == {"mode": "L"} or layout.interval == interval
    assert layout.is_baseline
    assert np.array_equal(simplejpeg.decode_jpeg(stored), simplejpeg.decode_jpeg(content))
    assert cut_part(stored, (10, 10, 60, 60), margin=2) is not None


def test_a_jpeg_that_shrinks_gets_markers_too_and_other_images_none() -> None:
    stored, _ = Conversion(shortest=100, has_restarts=True)(photograph(400, 200), "jpg")
    layout = read_layout(stored)
    assert layout is not None
    assert (layout.width, layout.columns, layout.interval) == (200, 13, 1)
    file = BytesIO()
    Image.new("RGB", (20, 10)).save(file, "PNG")
    assert Conversion(has_restarts=True)(file.getvalue(), "png") == (file.getvalue(), "png")


@needs_jpegtran
def test_a_damaged_jpeg_is_stored_unchanged() -> None:
    torn = photograph(224, 150)[:-400]
    assert Conversion(has_restarts=True)(torn, "jpg") == (torn, "jpg")
