"""How an image is stored in a shard: unchanged, as a smaller JPEG, or as pixels.

Decoding is most of the time that an image takes. A smaller JPEG takes less of it, and pixels (binary PPM, 3 bytes a
pixel) none, for about seven times the bytes of the JPEG. FFCV's ImageNet has both: images of at most 500 pixels, half
of them as pixels and half as JPEGs of quality 90 (github.com/libffcv/ffcv-imagenet, write_imagenet.sh 500 0.50 90).
"""

from dataclasses import dataclass
from io import BytesIO

from PIL import Image

from trainers.data.images.decoder import decode_pixels


@dataclass(frozen=True)
class Conversion:
    """The largest sides of the stored images, the quality of JPEGs that are shrunk, and the share stored as pixels."""

    longest: int | None = None
    shortest: int | None = None
    quality: int = 90
    pixels: float = 0.0

    def __call__(self, content: bytes, ending: str, *, as_pixels: bool = False) -> tuple[bytes, str]:
        """Return the bytes to store and the ending of their name; raise one of UNREADABLE for a damaged image."""
        if not as_pixels and self.longest is None and self.shortest is None:
            return content, ending
        pixels_HWC = decode_pixels(content)
        height, width, _ = pixels_HWC.shape
        scale = self._scale(width, height)
        if scale == 1 and not as_pixels:
            return content, ending
        image = Image.fromarray(pixels_HWC)
        if scale < 1:
            image = image.resize((round(width * scale), round(height * scale)), Image.Resampling.LANCZOS)
        file = BytesIO()
        if as_pixels:
            image.save(file, "PPM")
            return file.getvalue(), "ppm"
        image.save(file, "JPEG", quality=self.quality, optimize=True)
        return file.getvalue(), "jpg"

    def _scale(self, width: int, height: int) -> float:
        limits = (self.longest, max(width, height)), (self.shortest, min(width, height))
        return min([1.0, *(most / side for most, side in limits if most is not None)])
