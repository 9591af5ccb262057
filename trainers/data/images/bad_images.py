"""Images that cannot be decoded, counted over a whole run: all ranks, workers, epochs, attempts, and both splits.

A process that finds a bad image creates a file for it in a shared folder. The creation is exclusive, so an image that
several processes find counts once, and the files can be read after the run.
"""

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path


class TooManyBadImages(ValueError):
    """More images cannot be decoded than data.max_bad_images of the spec allows."""


@dataclass(frozen=True)
class BadImages:
    """The bad images of a run, recorded in `folder`; `most` is the allowed number."""

    folder: Path
    most: int

    def record(self, path: object, error: BaseException) -> None:
        """Record an image, and print a line on stderr if it is new; raise TooManyBadImages beyond the limit."""
        message = f"{path} cannot be decoded ({error})"
        is_new = self._create_file(hashlib.sha256(os.fsencode(str(path))).hexdigest()[:32], message)
        found = len(os.listdir(self.folder))
        if found > self.most:
            raise TooManyBadImages(f"{message}; bad images: {found}, data.max_bad_images: {self.most}") from error
        if is_new:
            # One write call, because other ranks may write to the same log at the same time.
            sys.stderr.write(f"{message}; another image replaces it, {found} of at most {self.most}\n")

    def _create_file(self, name: str, text: str) -> bool:
        """Create a file; return False if it exists already."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with (self.folder / f"{name}.txt").open("x", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{text}\n")
        except FileExistsError:
            return False
        return True
