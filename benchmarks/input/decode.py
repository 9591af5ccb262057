"""Images a second of one core and their quality, by how they are stored: `make bench NAME=input.decode`, two minutes.

Photographs of 500 x 375 pixels become random crops of 224 x 224. All ways take turns on one thread, and the ratios are
medians over the turns. The quality is the PSNR of random and central crops against those of the folder's JPEGs, and
against those of the photographs before any JPEG, with the same boxes.
"""

import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import PCG64, SeedSequence
from PIL import Image
from torch import Tensor

from benchmarks.input.photographs import HEIGHT, QUALITY, WIDTH, photographs, write_folder
from trainers.data.images.bad_images import BadImages
from trainers.data.images.crop import UNITS, Box, center_square, random_box
from trainers.data.images.decoder import decode_square
from trainers.data.images.image_draws import draw_units
from trainers.data.images.image_folder import list_images
from trainers.data.images.image_split import Images, new_bad_marks
from trainers.data.memory_store.sample_store import Files
from trainers.data.shards.conversion import Conversion
from trainers.data.shards.shard_index import read_index
from trainers.data.shards.write_shards import write_shards


def pillow_batch(files: Files, index_B: Tensor, *, epoch: int, size: int, colors: tuple[list[float], ...]) -> Tensor:
    """Return normalized random crops x_BCHW; `colors`: mean and deviation."""
    pixels_BHWC = np.stack([_decode(files.read(number), number, epoch, size) for number in index_B.tolist()])
    x_BCHW = torch.from_numpy(pixels_BHWC).permute(0, 3, 1, 2).float()
    mean_C11, deviation_C11 = (255 * torch.tensor(part).view(-1, 1, 1) for part in colors)
    return x_BCHW.sub_(mean_C11).div_(deviation_C11).contiguous()


def _decode(content: bytes, number: int, epoch: int, size: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    with Image.open(BytesIO(content)) as image:
        width, height = image.size
        draw = np.random.Generator(PCG64(SeedSequence([0, epoch, number])))
        box = random_box(width, height, draw.random(UNITS).tolist())
        factor = max(1, int(min(box[2] - box[0], box[3] - box[1]) // size))
        image.draft("RGB", (width // factor, height // factor))
        across, down = image.size[0] / width, image.size[1] / height
        scaled = box[0] * across, box[1] * down, box[2] * across, box[3] * down
        square = image.convert("RGB").resize((size, size), Image.Resampling.BILINEAR, box=scaled, reducing_gap=2.0)
        pixels_HWC = np.asarray(square)
        return pixels_HWC[:, ::-1] if draw.integers(2) else pixels_HWC


COUNT, ROUNDS, WARM, SIZE = 32, 20, 2, 224
COLORS = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
BOXES = 8  # of each photograph, for the quality
CONVERSIONS = {
    "unchanged": Conversion(),
    "restart markers": Conversion(has_restarts=True),
    "shortest 352, quality 95": Conversion(shortest=352, quality=95),
    "shortest 320, quality 95": Conversion(shortest=320, quality=95),
    "shortest 320, quality 90": Conversion(shortest=320, quality=90),
    "320, 90, restart markers": Conversion(shortest=320, quality=90, has_restarts=True),
    "shortest 288, quality 90": Conversion(shortest=288, quality=90),
    "shortest 256, quality 90": Conversion(shortest=256, quality=90),
    "half as pixels": Conversion(pixels=0.5),
    "half as pixels, markers": Conversion(pixels=0.5, has_restarts=True),
    "pixels": Conversion(pixels=1.0),
    "shortest 320, pixels": Conversion(shortest=320, pixels=1.0),
}
RESULT = Path(__file__).parent.parent / "results" / "decode.json"


@dataclass(frozen=True)
class Way:
    """A way to store images, and to make a batch of them; `finish` normalizes the batch."""

    name: str
    files: Files
    batch: Callable[[int], Tensor]
    finish: Callable[[Tensor], Tensor]


def main() -> None:
    """Measure all ways, print a table and write the report."""
    torch.set_num_threads(1)
    load_before, photos = os.getloadavg()[0], photographs(COUNT)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_folder(root / "folder", photos)
        ways = make_ways(root)
        times = measure(ways)
        rows = [row(way, times, photos, original=ways[1].files) for way in ways]
    print(f"{'stored':26} {'kB':>5}  {'ms':>5}  {'x before':>8}  {'batch':>5}   PSNR random, center (dB)")
    for each in rows:
        quality = "  ".join(f"{name} {values[0]:5.1f} {values[1]:5.1f}" for name, values in each["psnr_db"].items())
        print(
            f"{each['stored']:26} {each['kilobytes']:5.0f}  {each['cpu_ms']:5.2f}  {each['ratio']:8.2f}  "
            f"{each['ratio_without_normalization']:5.2f}   {quality}"
        )
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "load": [load_before, os.getloadavg()[0]]}
    versions = {name: version(name) for name in ("torch", "pillow", "simplejpeg")} | {
        "python": platform.python_version()
    }
    setting = {"photographs": COUNT, "side": [WIDTH, HEIGHT], "quality": QUALITY, "size": SIZE, "rounds": ROUNDS}
    report = {"machine": machine, "versions": versions, "setting": setting, "rows": rows}
    RESULT.write_text(json.dumps(report, indent=1) + "\n")


def make_ways(root: Path) -> list[Way]:
    """Write the shards; return Pillow's way, the folder's, and every way to store shards."""
    files, _, _ = list_images(root / "folder")
    every_B = torch.arange(COUNT)
    before = partial(pillow_batch, files, every_B, size=SIZE, colors=COLORS)
    ways = [Way("folder, before", files, lambda epoch: before(epoch=epoch), lambda x_BCHW: x_BCHW)]
    ways.append(split_way("folder", files, root))
    for name, conversion in CONVERSIONS.items():
        out = root / name
        write_shards(root / "folder", out, conversion, heldout_samples=None, per_tar=COUNT, processes=1)
        ways.append(split_way(f"shards, {name}", read_index(out).train, root))
    return ways


def split_way(name: str, files: Files, root: Path) -> Way:
    """Return the way of the engine, with the random crops of each epoch."""
    split = Images(files, SIZE, *COLORS, BadImages(root / "bad", 0), new_bad_marks(COUNT), seed=0)
    every_B = torch.arange(COUNT)

    def batch(epoch: int) -> Tensor:
        return split.stage(epoch, lambda ranks: every_B.unsqueeze(0)).batch(every_B)[0]

    return Way(name, files, batch, lambda pixels_BCHW: split.normalize(pixels_BCHW.contiguous()))


def measure(ways: list[Way]) -> dict[str, list[tuple[float, float]]]:
    """Return for each way and round the CPU ms of an image: the batch, and the batch with its normalization."""
    times: dict[str, list[tuple[float, float]]] = {way.name: [] for way in ways}
    for epoch in range(WARM + ROUNDS):
        for way in ways:
            began = time.process_time()
            made = way.batch(epoch)
            between = time.process_time()
            way.finish(made)
            ended = time.process_time()
            if epoch >= WARM:
                times[way.name].append((1000 * (between - began) / COUNT, 1000 * (ended - began) / COUNT))
    return times


def row(
    way: Way, times: dict[str, list[tuple[float, float]]], photos: list[Image.Image], original: Files
) -> dict[str, Any]:
    """Return the figures of a way."""
    before, own = times["folder, before"], times[way.name]
    ratios = [[theirs[1] / mine[part] for theirs, mine in zip(before, own, strict=True)] for part in (0, 1)]
    return {
        "stored": way.name,
        "kilobytes": statistics.mean(way.files.size(number) for number in range(COUNT)) / 1000,
        "cpu_ms": statistics.median(both for _, both in own),
        "ratio": statistics.median(ratios[1]),
        "ratio_without_normalization": statistics.median(ratios[0]),
        "psnr_db": quality(way.files, photos, original),
    }


def quality(files: Files, photos: list[Image.Image], original: Files) -> dict[str, list[float]]:
    """Return the mean PSNR of random and of central crops, against the folder's JPEGs and against the photographs."""
    values: dict[str, list[list[float]]] = {"folder": [], "photograph": []}
    order = [*range(0, COUNT, 2), *range(1, COUNT, 2)]  # of the photographs in the folder, by class
    for number in range(COUNT):
        stored, jpeg, photo = files.read(number), original.read(number), photos[order[number]]
        unit_KU = draw_units(1, 0, np.arange(BOXES) + BOXES * number, UNITS).tolist()
        boxes = [random_box(WIDTH, HEIGHT, unit_U) for unit_U in unit_KU] + [center_square(WIDTH, HEIGHT)]
        crops = [[crop(content, box) for box in boxes] for content in (stored, jpeg, ppm(photo))]
        for name, others in zip(values, crops[1:], strict=True):
            values[name].append([psnr(mine, theirs) for mine, theirs in zip(crops[0], others, strict=True)])
    means = {
        name: (np.mean([row[:-1] for row in rows]), np.mean([row[-1] for row in rows])) for name, rows in values.items()
    }
    return {name: [float(mean) for mean in pair] for name, pair in means.items()}


def crop(content: bytes, box: Box) -> Tensor:
    """Return the part of a stored image that a box of the whole photograph contains."""
    return decode_square(content, partial(scaled, box), SIZE)


def scaled(box: Box, width: int, height: int) -> Box:
    """Return the box in an image of another size."""
    across, down = width / WIDTH, height / HEIGHT
    return box[0] * across, box[1] * down, box[2] * across, box[3] * down


def ppm(photo: Image.Image) -> bytes:
    """Return the photograph as it was before any JPEG."""
    return b"P6\n%d %d\n255\n" % photo.size + photo.tobytes()


def psnr(left: Tensor, right: Tensor) -> float:
    """Return the peak signal-to-noise ratio in decibels, at most 99."""
    error = (left.double() - right.double()).square().mean()
    return min(99.0, float(10 * torch.log10(255**2 / error))) if error > 0 else 99.0


if __name__ == "__main__":
    main()
