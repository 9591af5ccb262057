"""JPEGs with as much detail as photographs, for tests."""

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image

from trainers.data.shards.conversion import Conversion

needs_jpegtran = pytest.mark.skipif(not Conversion.can_add_restarts(), reason="jpegtran is not installed")


def photograph(width: int, height: int, *, mode: str = "RGB", **how: Any) -> bytes:
    """Return a JPEG with coarse and fine detail; `how`: parameters of Pillow's writer."""
    coarse = np.random.default_rng(width).integers(0, 256, (height // 8, width // 8, 3), dtype=np.uint8)
    file, image = BytesIO(), Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    image.convert(mode).save(file, "JPEG", **{"quality": 90, **how})
    return file.getvalue()
