"""Images of every mode that Pillow reads become RGB bytes: gray images of 16 bits keep their shades."""

import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from trainers.data.images.bad_images import BadImages, TooManyBadImages
from trainers.data.images.crop import Box
from trainers.data.images.decoder import UNREADABLE, decode_pixels, decode_square, to_rgb
from trainers.data.images.image_folder import ImageList
from trainers.data.images.image_split import Images, new_bad_marks

SIDE = 16
RAMP = np.arange(SIDE * SIDE, dtype=np.uint16).reshape(SIDE, SIDE) * 257  # 0 to 65,535
GRAY = (RAMP >> 8).astype(np.uint8)
COLOR = np.stack([GRAY, 255 - GRAY, GRAY.T], axis=2)


def encoded(image: Image.Image, kind: str, **how: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def whole(width: int, height: int) -> Box:
    return 0, 0, width, height


def check(content: bytes, expected_HWC: Any) -> None:
    """Compare both decoders with the expected bytes."""
    square_HWC = decode_square(content, whole, SIDE).permute(1, 2, 0).numpy()
    for found_HWC in (decode_pixels(content), square_HWC):
        assert found_HWC.dtype == np.uint8
        assert np.array_equal(found_HWC, expected_HWC)


def as_rgb(gray_HW: Any) -> Any:
    return np.repeat(gray_HW[..., None], 3, axis=2)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_a_gray_image_of_16_bits_keeps_its_shades(kind: str) -> None:
    """It used to be white: Pillow cuts values above 255 off. Pillow reads a PGM in the mode of 32 bits."""
    check(encoded(Image.fromarray(RAMP), kind), as_rgb(GRAY))


def test_a_tiff_of_the_other_byte_order_and_one_of_12_bits_keep_their_shades() -> None:
    check(encoded(Image.fromarray(RAMP.astype(">u2")), "TIFF"), as_rgb(GRAY))
    pairs = (RAMP >> 4).reshape(-1, 2).astype(np.uint32)
    packed = (pairs[:, 0] << 12 | pairs[:, 1]).astype(">u4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()
    check(tiff_of_12_bits(packed), as_rgb(GRAY))


def tiff_of_12_bits(packed: bytes) -> bytes:
    """Return a TIFF as cameras write it; Pillow only reads these."""
    tags = [
        (256, SIDE),
        (257, SIDE),
        (258, 12),
        (259, 1),
        (262, 1),
        (273, 8),
        (277, 1),
        (278, SIDE),
        (279, len(packed)),
    ]
    entries = b"".join(
        number.to_bytes(2, "little")
        + (4).to_bytes(2, "little")
        + (1).to_bytes(4, "little")
        + value.to_bytes(4, "little")
        for number, value in tags
    )
    head = b"II*\0" + (8 + len(packed)).to_bytes(4, "little")
    return head + packed + len(tags).to_bytes(2, "little") + entries + bytes(4)


@pytest.mark.parametrize("mode", ["I;16", "I;16L", "I;16B", "I;16N"])
def test_every_order_of_the_bytes_of_16_bits_is_read(mode: str) -> None:
    image = Image.new(mode, (1, 1))
    image.putpixel((0, 0), 0x1234)
    assert np.asarray(to_rgb(image)).tolist() == [[[0x12] * 3]]


def png_of_16_bits_in_color() -> bytes:
    """Return a PNG as other programs write it; Pillow only reads these."""
    wide = COLOR.astype(np.uint16) * 257
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in wide)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", SIDE, SIDE, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_an_image_of_16_bits_in_color_keeps_its_upper_bits() -> None:
    check(png_of_16_bits_in_color(), COLOR)


def test_images_of_8_bits_in_color_are_as_they_were() -> None:
    rgb = Image.fromarray(COLOR)
    check(encoded(rgb, "PNG"), COLOR)
    rgba = rgb.copy()
    rgba.putalpha(Image.fromarray(GRAY))
    check(encoded(rgba, "PNG"), COLOR)
    check(encoded(rgb, "PPM"), COLOR)
    few = rgb.quantize(7)
    check(encoded(few, "PNG"), np.asarray(few.convert("RGB")))
    check(encoded(few, "PNG", transparency=3), np.asarray(few.convert("RGB")))
    for mode in ("CMYK", "YCbCr", "LAB"):
        image = rgb.convert(mode)
        check(encoded(image, "TIFF"), np.asarray(image.convert("RGB")))
    for image in (rgb.convert("HSV"), rgb.convert("RGBX"), rgba.convert("RGBa"), rgb.convert("P").convert("PA")):
        assert np.array_equal(np.asarray(to_rgb(image)), np.asarray(image.convert("RGB")))


def test_gray_images_of_at_most_8_bits_are_gray() -> None:
    gray = Image.fromarray(GRAY)
    check(encoded(gray, "PNG"), as_rgb(GRAY))
    check(encoded(gray.convert("1"), "PNG"), as_rgb(np.asarray(gray.convert("1")) * np.uint8(255)))
    check(encoded(gray.convert("LA"), "PNG"), as_rgb(GRAY))
    assert np.array_equal(np.asarray(to_rgb(gray.convert("LA").convert("La"))), as_rgb(GRAY))


def test_a_reduced_jpeg_of_each_mode_has_its_colors() -> None:
    """Pillow decodes a JPEG at a half, if the box has twice the pixels, in the JPEG's own mode."""
    for mode in ("L", "CMYK"):
        image = Image.new("RGB", (8 * SIDE, 8 * SIDE), (90, 90, 90)).convert(mode)
        x_CHW = decode_square(encoded(image, "JPEG"), whole, SIDE)
        assert (x_CHW.int() - 90).abs().max() <= 3


@pytest.mark.parametrize(("dtype", "mode"), [(np.int32, "I"), (np.float32, "F")])
def test_an_image_whose_depth_is_unknown_is_a_bad_image_by_its_mode(dtype: Any, mode: str, tmp_path: Path) -> None:
    content = encoded(Image.fromarray(RAMP.astype(dtype)), "TIFF")
    for decode in (decode_pixels, lambda it: decode_square(it, whole, SIDE)):
        with pytest.raises(UNREADABLE, match=rf"Pillow's mode {mode}\b.*convert it to 8 or 16 bits"):
            decode(content)
    (tmp_path / "a.png").write_bytes(content)
    files, zero = ImageList(tmp_path, np.array([b"a.png"]), torch.zeros(1, dtype=torch.int64)), (0.0, 0.0, 0.0)
    images = Images(files, SIDE, zero, zero, BadImages(tmp_path / "bad", 0), new_bad_marks(1))
    with pytest.raises(TooManyBadImages, match=rf"a\.png cannot be decoded .*Pillow's mode {mode}\b"):
        images.batch(torch.tensor([0]))
