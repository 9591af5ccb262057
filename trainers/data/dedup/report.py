"""The report of a search: JSON with all groups, and one HTML file with pictures of the largest ones."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Any

from PIL import Image

from trainers.data.dedup.duplicates import Duplicates, HashSettings
from trainers.data.dedup.hash_images import HashedImages
from trainers.data.dedup.hashes import format_hash
from trainers.data.dedup.image_source import ImageSource
from trainers.data.images.decoder import UNREADABLE, decode_pixels
from trainers.data.shards.shard_error import ShardError

GROUPS, PICTURES = 100, 8  # shown groups, and pictures of each
THUMBNAIL = 112  # pixels
STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top; }
td.number { font-variant-numeric: tabular-nums; text-align: right; }
.group { display: flex; flex-wrap: wrap; gap: .8rem; }
figure { margin: 0; width: 9rem; }
figure img { display: block; height: 7rem; object-fit: contain; object-position: left; }
figcaption { font-size: .75rem; overflow-wrap: anywhere; }
.kept figcaption::before { content: "kept: "; font-weight: 600; }
.muted { opacity: .7; }
"""


@dataclass(frozen=True)
class Search:
    """A search and all that it found."""

    source: ImageSource
    settings: HashSettings
    hashed: HashedImages
    duplicates: Duplicates

    def name(self, place: int) -> str:
        """Return the name of the image with a hash."""
        return self.source.names[int(self.hashed.number_N[place])]

    def label(self, place: int) -> int | None:
        """Return the class of the image with a hash; None if the images have no classes."""
        return None if self.source.labels is None else self.source.labels[self.hashed.number_N[place]]

    @property
    def counts(self) -> dict[str, int]:
        """The figures of the result: images are unreadable, left out, or stay."""
        kept = len(self.duplicates.leaders)
        return {
            "images": len(self.source),
            "kept": kept,
            "left_out": len(self.hashed.number_N) - kept,
            "unreadable": len(self.hashed.bad),
            "groups": len(self.duplicates.groups()),
        }

    def has_several_classes(self, group: list[int]) -> bool:
        """Return whether images of a group have different classes: a wrong class, or a threshold that is too high."""
        return len({self.label(place) for place in group}) > 1


def make_json(search: Search) -> str:
    """Return the counts, the settings, all groups and all unreadable images as JSON."""
    settings, groups = search.settings, search.duplicates.groups()
    document: dict[str, Any] = {
        "folder": str(search.source.root),
        "hash": settings.kind,
        "bits": settings.bits,
        "threshold": settings.threshold,
        "keep": settings.keep,
        "images": len(search.source),
        "kept": len(search.duplicates.leaders),
        "left_out": len(search.hashed.number_N) - len(search.duplicates.leaders),
        "groups_with_several_classes": sum(map(search.has_several_classes, groups)),
        "groups": [[_describe(search, place) for place in group] for group in groups],
        "bad_images": [{"path": name, "error": error} for name, error in search.hashed.bad],
    }
    return json.dumps(document, indent=1) + "\n"


def _describe(search: Search, place: int) -> dict[str, Any]:
    """Return an image of a group; the first of a group is the kept one."""
    return {
        "path": search.name(place),
        "hash": format_hash(search.hashed.hash_NW[place]),
        "distance": int(search.duplicates.distance_N[place]),
        "class": search.label(place),
    }


def make_html(search: Search) -> str:
    """Return a page without other files: the counts, and the kept and left out images of the largest groups."""
    groups = search.duplicates.groups()
    more = f"The {GROUPS} largest of {len(groups):,} groups, " if len(groups) > GROUPS else ""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Near-duplicate images</title><style>{STYLE}</style><h1>Near-duplicate images</h1>",
        _counts(search, groups),
        f"<p class=muted>{more}{'at' if more else 'At'} most {PICTURES} images each. The number at an image is its "
        "distance from the kept one in bits.</p>"
        if groups
        else "<p>No two images are similar.</p>",
        *(part for number, group in enumerate(groups[:GROUPS], start=1) for part in _group(search, number, group)),
        *_bad(search),
    ]
    return "\n".join(parts) + "</html>\n"


def _counts(search: Search, groups: list[list[int]]) -> str:
    settings, duplicates = search.settings, search.duplicates
    rows = [
        ("folder", str(search.source.root)),
        ("hash", f"{settings.kind}, {settings.bits} bits, similar up to {settings.threshold} bits"),
        ("images", f"{len(search.source):,}"),
        ("groups", f"{len(groups):,}, {sum(map(search.has_several_classes, groups)):,} of them with several classes"),
        ("kept", f"{len(duplicates.leaders):,} (of each group the {settings.keep})"),
        ("left out", f"{len(duplicates.leader_of_N) - len(duplicates.leaders):,} ({100 * duplicates.ratio:.1f} %)"),
        ("unreadable", f"{len(search.hashed.bad):,}"),
    ]
    return "<table>" + "".join(f"<tr><th>{name}<td>{escape(value)}" for name, value in rows) + "</table>"


def _group(search: Search, number: int, group: list[int]) -> Iterator[str]:
    note = ", of several classes" if search.has_several_classes(group) else ""
    yield f"<h2>{number}. {len(group):,} images{note}</h2><div class=group>"
    for place in group[:PICTURES]:
        kept = search.duplicates.leader_of_N[place] == place
        caption = search.name(place) + ("" if kept else f" ({search.duplicates.distance_N[place]})")
        picture = f"<img alt='' src='{_thumbnail(search, place)}'>"
        yield f"<figure{' class=kept' if kept else ''}>{picture}<figcaption>{escape(caption)}</figcaption></figure>"
    yield "</div>"
    if len(group) > PICTURES:
        yield f"<p class=muted>and {len(group) - PICTURES:,} more</p>"


def _thumbnail(search: Search, place: int) -> str:
    """Return a picture as a data URL; an empty one if the file has become unreadable since it was hashed."""
    try:
        pixels_HWC = decode_pixels(search.source.reader.read(int(search.hashed.number_N[place])))
    except (*UNREADABLE, ShardError):
        return "data:,"
    image = Image.fromarray(pixels_HWC[:, :, 0] if pixels_HWC.shape[2] == 1 else pixels_HWC)
    image_format = "PNG" if max(image.size) <= THUMBNAIL else "JPEG"  # small images keep every pixel
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    file = BytesIO()
    image.save(file, image_format)
    return f"data:image/{image_format.lower()};base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


def _bad(search: Search) -> Iterator[str]:
    if search.hashed.bad:
        yield "<h2>Unreadable images</h2><table>"
        yield from (f"<tr><td>{escape(name)}<td>{escape(error)}" for name, error in search.hashed.bad[:1000])
        yield "</table>"
