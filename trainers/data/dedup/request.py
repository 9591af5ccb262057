"""What one search is asked for, and the search itself."""

from dataclasses import dataclass
from pathlib import Path

from contract.spec.dedup.options import threshold_fault
from trainers.data.dedup.duplicates import HashSettings, find_duplicates
from trainers.data.dedup.hash_images import Progress, ProgressLine, hash_images
from trainers.data.dedup.image_source import ImageSource, open_source
from trainers.data.dedup.report import Search


@dataclass(frozen=True)
class SearchRequest:
    """The images, how they are compared, and where the results go."""

    images: Path
    out: Path
    settings: HashSettings
    hold_out: int | None
    threads: int

    def search(self, progress: Progress | None = None) -> Search:
        """Find the duplicates; raise ValueError, OSError or ShardError for wrong options or images."""
        if fault := threshold_fault(self.settings.threshold, self.settings.bits):
            raise ValueError(fault)
        source = open_source(self.images.absolute(), heldout_samples=self.hold_out)
        return search_duplicates(source, self.settings, threads=self.threads, progress=progress)


def search_duplicates(
    source: ImageSource, settings: HashSettings, *, threads: int, progress: Progress | None = None
) -> Search:
    """Hash all images and group them, with lines of progress on stderr; `progress` gets the numbers of images too."""
    line = ProgressLine("images hashed:")

    def note(done: int, total: int) -> None:
        line(done, total)
        if progress is not None:
            progress(done, total)

    hashed = hash_images(source, settings.kind, settings.bits, threads=threads, progress=note)
    grouped = ProgressLine("passes of the grouping:")
    found = find_duplicates(hashed.hash_NW, settings, pixels_N=hashed.pixels_N, processes=threads, progress=grouped)
    return Search(source, settings, hashed, found)
