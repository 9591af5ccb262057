"""The spec of a search for near-duplicate images, which a run of a program carries out."""

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from contract.spec.base import Spec
from contract.spec.dedup import options
from contract.spec.dedup.options import HashBits, HashKind, Stay
from contract.spec.program.environment import ONE_LINE
from contract.validation import ValidationIssue, validation_error

ImageFolder = Annotated[str, Field(min_length=1, max_length=4096, pattern=ONE_LINE)]


class Dedup(Spec):
    """A search for near-duplicates among images: of each group of similar images one stays."""

    images: ImageFolder = Field(examples=["/data/images"])
    """Folder of the images, an absolute path: an image folder, a folder of shards, or any folder with image files. Of a
    data set the training images alone are searched."""
    hash: HashKind = options.DEFAULT_HASH
    """What the hash of an image compares; the default suits most images."""
    bits: HashBits = options.DEFAULT_BITS
    """Number of bits of a hash."""
    threshold: Annotated[int, Field(ge=0, lt=max(options.HASH_BITS))] | None = Field(default=None, examples=[48])
    """Largest number of bits in which two similar images differ, less than half of `bits`; null: 48 of 256 bits, 6 of
    64."""
    keep: Stay = options.DEFAULT_STAY
    """Which image of a group stays: `first`: the first by path; `largest`: the one with most pixels."""
    exact: bool = False
    """Whether no similar pair of many images may be missed at a high threshold, however long that takes."""
    hold_out: Annotated[int, Field(ge=options.MIN_HELD_OUT, le=2**31 - 1)] | None = Field(default=None, examples=[1000])
    """Number of held-out images of an image folder without val/; null: the folder has val/."""

    @property
    def similar_bits(self) -> int:
        """The threshold, or that of the number of bits."""
        return options.DEFAULT_THRESHOLDS[self.bits] if self.threshold is None else self.threshold

    @model_validator(mode="after")
    def _check_dedup(self) -> Self:
        if issues := list(self._issues()):
            raise validation_error(issues)
        return self

    def _issues(self) -> Iterator[ValidationIssue]:
        if not self.images.startswith("/"):
            message = f"'{self.images}' is a relative path, and a job starts in another folder: write it from / on"
            yield ValidationIssue(path="images", message=message)
        elif "{" in self.images:
            message = f"'{self.images}' has a placeholder, which only the command of a program may have"
            yield ValidationIssue(path="images", message=message)
        if fault := options.threshold_fault(self.similar_bits, self.bits):
            yield ValidationIssue(path="threshold", message=fault)


def describe_dedup(dedup: Dedup) -> str:
    """Return the images and how they are compared as a line of text."""
    exact = ", exactly" if dedup.exact else ""
    return (
        f"near-duplicates in {dedup.images} by the {dedup.hash} hash of {dedup.bits} bits, similar up to "
        f"{dedup.similar_bits} bits{exact}; of each group the {dedup.keep} stays"
    )
