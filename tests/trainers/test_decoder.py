"""The decoder: a JPEG looks as Pillow shows it, at every reduction, and Pillow decodes what libjpeg-turbo does not."""

from collections.abc import Callable
from functools import partial
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from tests.testing.trainers.photographs import photograph
from trainers.data.images import decoder
from trainers.data.images.crop import UNITS, Box, center_square, random_box
from trainers.data.images.decoder import UNREADABLE, decode_square
from trainers.data.images.image_draws import draw_units

SIZE = 64


def by_pillow(monkeypatch: pytest.MonkeyPatch, content: bytes, choose: Callable[[int, int], Box]) -> Tensor:
    with monkeypatch.context() as patch:
        patch.setattr(decoder, "simplejpeg", None)
        return decode_square(content, choose, SIZE)


def psnr(left: Tensor, right: Tensor) -> float:
    """Return the peak signal-to-noise ratio of bytes, in decibels."""
    return float(10 * torch.log10(255**2 / (left.double() - right.double()).square().mean()))


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("width", "height"), [(100, 75), (160, 200), (300, 280), (900, 700)])
@pytest.mark.parametrize("how", [{}, {"subsampling": 0}, {"progressive": True}])
def test_a_jpeg_looks_as_pillow_shows_it(
    monkeypatch: pytest.MonkeyPatch, width: int, height: int, how: dict[str, object]
) -> None:
    """The reductions are 1, 2, 4 and 8."""
    content = photograph(width, height, **how)
    values = [psnr(decode_square(content, box, SIZE), by_pillow(monkeypatch, content, box)) for box in boxes()]
    assert min(values) > 40


def boxes() -> list[Callable[[int, int], Box]]:
    """Return boxes that are chosen anew at each call, without drawing on."""
    return [partial(numbered_box, number) for number in range(20)]


def numbered_box(number: int, width: int, height: int) -> Box:
    return random_box(width, height, draw_units(0, 0, np.array([number]), UNITS)[0].tolist())


def test_a_whole_jpeg_that_is_not_reduced_is_nearly_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    content = photograph(120, 100)
    whole = [decode_square(content, lambda w, h: (0, 0, w, h), SIZE)]
    whole.append(by_pillow(monkeypatch, content, lambda w, h: (0, 0, w, h)))
    assert psnr(*whole) > 50


def test_a_random_box_is_drawn_once_although_pillow_decodes_in_the_end() -> None:
    """The JPEG has bytes too many, of which libjpeg-turbo warns."""
    drawn: list[Box] = []

    def choose(width: int, height: int) -> Box:
        drawn.append(center_square(width, height))
        return drawn[-1]

    content = photograph(100, 75)
    middle = len(content) // 2
    decode_square(content[:middle] + b"\xff\xd3" + content[middle:], choose, SIZE)
    assert len(drawn) == 1


def test_a_gray_jpeg_becomes_rgb() -> None:
    file = BytesIO()
    Image.linear_gradient("L").save(file, "JPEG")
    x_CHW = decode_square(file.getvalue(), center_square, SIZE)
    assert x_CHW.shape == (3, SIZE, SIZE)
    assert torch.equal(x_CHW[0], x_CHW[2])


@pytest.mark.parametrize("content", [b"", b"no image", photograph(100, 75)[:-2000], photograph(100, 75)[:300]])
def test_a_damaged_image_is_an_error(content: bytes) -> None:
    with pytest.raises(UNREADABLE):
        decode_square(content, center_square, SIZE)


def test_an_image_of_too_many_pixels_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file can hold more pixels than the memory."""
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(Image.DecompressionBombError):
        decode_square(photograph(100, 75), center_square, SIZE)


def test_a_resized_box_has_the_colors_of_a_pixel_beside_each_other() -> None:
    """A batch has the same layout; otherwise every image is copied twice, which takes a tenth of its time."""
    for content in (photograph(160, 200), b"P6\n100 90\n255\n" + bytes(27_000)):
        decoded = decode_square(content, lambda w, h: (1, 2, 90, 80), SIZE)
        assert decoded.permute(1, 2, 0).is_contiguous()
