"""Compare outcomes: of the engine with those of the reference, and of a resumed run with one in a single attempt."""

from collections.abc import Iterator, Sequence

import torch

from tests.testing.trainers.differential.outcome import Outcome, Tensors

# a tensor of smaller numbers is compared as if its largest number were this; rounding to 16 bits moves a bias that
# begins at 0 by more of its size
LEAST_SIZE, LEAST_SIZE_OF_16_BITS = 1e-2, 0.1
COARSE, FIRST_LOSS = 1e-2, 1e-5  # limits above COARSE are those of 16 bits
STATES = ("parameters", "buffers", "average_parameters", "average_buffers")


def differences(
    outcomes: Sequence[Outcome], expected: Sequence[Outcome], *, limit: float, with_accuracy: bool
) -> Iterator[str]:
    """Yield what differs, relative to its size, by more than `limit` between the engine and the reference."""
    for rank, (found, plain) in enumerate(zip(outcomes, expected, strict=True)):
        if not _are_equal(found.initial, plain.initial):
            yield f"rank {rank} begins with other weights"
        for kind in STATES:
            yield from _compare_tensors(f"rank {rank}: {kind}", getattr(found, kind), getattr(plain, kind), limit)
        if wrong := sorted(name for name in plain.modes if found.modes.get(name) != plain.modes[name]):
            yield f"rank {rank}: the modes of {wrong} are not those of the constructor"
        if not _are_equal(found.parameters, outcomes[0].parameters):
            yield f"rank {rank} ends with other weights than rank 0"
        yield from _compare_numbers(f"rank {rank}: losses", found.losses, plain.losses, limit)
        if limit > COARSE:  # before the first step nothing is rounded otherwise
            yield from _compare_numbers(f"rank {rank}: first loss", found.losses[:1], plain.losses[:1], FIRST_LOSS)
        for name, at in [("held-out losses", 0), *([("accuracies", 1)] if with_accuracy else [])]:
            numbers = [of[at] for of in found.evaluations], [of[at] for of in plain.evaluations]
            yield from _compare_numbers(f"rank {rank}: {name}", *numbers, limit)


def differences_of_resumed(whole: Sequence[Outcome], resumed: Sequence[Outcome]) -> Iterator[str]:
    """Yield what differs, to the bit, between a run in one attempt and a resumed one."""
    for rank, (one, other) in enumerate(zip(whole, resumed, strict=True)):
        for kind in STATES:
            mine, theirs = getattr(one, kind), getattr(other, kind)
            if wrong := [name for name, x in mine.items() if not torch.equal(x, theirs[name])]:
                yield f"rank {rank}: {kind} {wrong} of the resumed run are others"
        if (one.losses, one.evaluations, one.modes) != (other.losses, other.evaluations, other.modes):
            yield f"rank {rank}: losses, evaluations or modes of the resumed run are others"


def _compare_tensors(what: str, found: Tensors, expected: Tensors, limit: float) -> Iterator[str]:
    if found.keys() != expected.keys():
        yield f"{what}: the names {sorted(found.keys() ^ expected.keys())} are on one side only"
    for name in [name for name in expected if name in found]:
        mine, plain = found[name], expected[name]
        if mine.dtype != plain.dtype or mine.shape != plain.shape:
            yield f"{what} {name} is {mine.dtype} {list(mine.shape)}, and not {plain.dtype} {list(plain.shape)}"
            continue
        size = max(float(plain.double().abs().max()), LEAST_SIZE_OF_16_BITS if limit > COARSE else LEAST_SIZE)
        error = float((mine.double() - plain.double()).abs().max()) / size
        allowed = limit if plain.is_floating_point() else 0.0
        if not error <= allowed:
            yield f"{what} {name} differs by {error:.2g} of its size, above {allowed:g}"


def _compare_numbers(what: str, found: Sequence[float], expected: Sequence[float], limit: float) -> Iterator[str]:
    if len(found) != len(expected):
        yield f"{what}: {len(found)}, and not {len(expected)}"
    for number, (mine, plain) in enumerate(zip(found, expected, strict=False)):
        if not abs(mine - plain) <= limit * max(abs(plain), LEAST_SIZE):
            yield f"{what}: number {number} is {mine!r}, and not {plain!r}"


def _are_equal(one: Tensors, other: Tensors) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
