"""The options of a search for near-duplicate images: their choices, limits and defaults, for specs and for commands.

It needs the standard library alone, so that the commands read their options from here without the models of a spec.
"""

from typing import Literal, get_args

HashKind = Literal["average", "difference", "perceptual", "wavelet"]
HashBits = Literal[64, 256]
Stay = Literal["first", "largest"]
HASH_KINDS: tuple[HashKind, ...] = get_args(HashKind)
HASH_BITS: tuple[HashBits, ...] = get_args(HashBits)
STAYS: tuple[Stay, ...] = get_args(Stay)

DEFAULT_HASH: HashKind = "perceptual"
DEFAULT_BITS: HashBits = 256
DEFAULT_THRESHOLDS = {64: 6, 256: 48}  # by the number of bits
DEFAULT_THRESHOLD = DEFAULT_THRESHOLDS[DEFAULT_BITS]
DEFAULT_STAY: Stay = "first"
MIN_HELD_OUT = 1

LIST, COUNT, PAGE, DOCUMENT = "images.txt", "kept.txt", "report.html", "report.json"  # the files of a result


def threshold_fault(threshold: int, bits: int) -> str | None:
    """Return why a threshold does not fit hashes of so many bits; None if it does.

    Hashes of images that have nothing in common differ in about half of their bits.
    """
    if 0 <= threshold < bits // 2:
        return None
    bounds = f"0 to {bits // 2 - 1} of the {bits} bits of their hashes"
    return f"two similar images differ in {bounds}, and the threshold is {threshold}"
