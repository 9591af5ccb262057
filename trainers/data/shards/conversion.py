"""How an image is stored in a shard: unchanged, as a smaller JPEG, or as pixels.

Decoding is most of the time that an image takes. A smaller JPEG takes less of it, and pixels (binary PPM, 3 bytes a
pixel) none, for about seven times the bytes of the JPEG. FFCV's ImageNet has both: images of at most 500 pixels, half
of them as pixels and half as JPEGs of quality 90 (github.com/libffcv/ffcv-imagenet, write_imagenet.sh 500 0.50 90).
"""

import shutil
import subprocess
from dataclasses import dataclass
from io import BytesIO

from PIL import Image

from trainers.data.images.decoder import decode_pixels
from trainers.data.images.jpeg_part import read_layout

JPEGTRAN = "jpegtran"  # of libjpeg-turbo: changes the coding of a JPEG, and no pixel
INTERVALS = (4, 3, 2, 1)  # MCUs of a segment: shorter ones let a part be smaller, and cost bytes
COLOR_MCU = 16  # pixels, of the JPEGs that Pillow writes


@dataclass(frozen=True)
class Conversion:
    """The largest sides of the stored images, the quality of JPEGs that are shrunk, and the share stored as pixels."""

    longest: int | None = None
    shortest: int | None = None
    quality: int = 90
    pixels: float = 0.0
    has_restarts: bool = False  # JPEGs get restart markers, by which a part can be decoded alone

    def __call__(self, content: bytes, ending: str, *, as_pixels: bool = False) -> tuple[bytes, str]:
        """Return the bytes to store and the ending of their name; raise one of UNREADABLE for a damaged image."""
        if not as_pixels and self.longest is None and self.shortest is None:
            return self._recode(content, ending)
        pixels_HWC = decode_pixels(content)
        height, width, _ = pixels_HWC.shape
        scale = self._scale(width, height)
        if scale == 1 and not as_pixels:
            return self._recode(content, ending)
        image = Image.fromarray(pixels_HWC)
        if scale < 1:
            image = image.resize((round(width * scale), round(height * scale)), Image.Resampling.LANCZOS)
        file = BytesIO()
        if as_pixels:
            image.save(file, "PPM")
            return file.getvalue(), "ppm"
        interval = _interval(-(-image.width // COLOR_MCU)) if self.has_restarts else 0
        image.save(file, "JPEG", quality=self.quality, optimize=True, restart_marker_blocks=interval)
        return file.getvalue(), "jpg"

    @staticmethod
    def can_add_restarts() -> bool:
        """Return whether this machine has the program that adds restart markers to a JPEG."""
        return shutil.which(JPEGTRAN) is not None

    def _scale(self, width: int, height: int) -> float:
        limits = (self.longest, max(width, height)), (self.shortest, min(width, height))
        return min([1.0, *(most / side for most, side in limits if most is not None)])

    def _recode(self, content: bytes, ending: str) -> tuple[bytes, str]:
        """Return the image unchanged, or with restart markers if it is a whole JPEG."""
        layout = read_layout(content) if self.has_restarts and ending == "jpg" else None
        if layout is None:
            return content, ending
        interval = f"{_interval(layout.columns)}B"
        command = [JPEGTRAN, "-copy", "none", "-optimize", "-restart", interval]
        done = subprocess.run(command, input=content, capture_output=True)
        return (content if done.returncode else done.stdout), ending


def _interval(columns: int) -> int:
    """Return the MCUs of a segment, so that every row begins with a new one."""
    return next(interval for interval in INTERVALS if columns % interval == 0)
