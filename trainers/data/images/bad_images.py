"""Images that cannot be decoded, counted over a whole run: all ranks, workers, epochs, attempts, and both splits.

Whoever finds one leaves a file of its name in a folder that all share, by exclusive create; so an image that several
find, or one finds again, counts once, and what was found can be read after the run.
"""

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path


class TooManyBadImages(ValueError):
    """More images cannot be decoded than the spec lets pass."""


@dataclass(frozen=True)
class BadImages:
    """The bad images of a run, in `folder`; it may have `most` of them."""

    folder: Path
    most: int

    def note(self, path: object, error: BaseException) -> None:
        """Note an image, and say so where it is a new one; raise TooManyBadImages, which names it."""
        said = f"{path} cannot be decoded ({error})"
        is_new = self._leave(hashlib.sha256(os.fsencode(str(path))).hexdigest()[:32], said)
        found = len(os.listdir(self.folder))
        if found > self.most:
            raise TooManyBadImages(f"{said}; images like it: {found}, data.max_bad_images: {self.most}") from error
        if is_new:
            # in one write: other ranks say the same at the same moment, into one log
            sys.stderr.write(f"{said}; another one takes its place, {found} of at most {self.most}\n")

    def _leave(self, name: str, text: str) -> bool:
        """Leave a file; False when it is there already."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with (self.folder / f"{name}.txt").open("x", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{text}\n")
        except FileExistsError:
            return False
        return True
