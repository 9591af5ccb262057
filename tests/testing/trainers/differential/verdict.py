"""Compare the engine's outcome of a case with that of the reference."""

import re
from collections.abc import Iterator, Sequence

import torch

from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.outcome import Outcome, Refusal, Tensors
from tests.testing.trainers.differential.ranks import Ranks
from tests.testing.trainers.differential.reference import train_plainly

# what the engine may refuse before the first step, in its own words
REFUSALS = (r"batch normalization needs at least 2",)
LIMITS = {torch.float64: 1e-10, torch.float32: 1e-5}
ROUNDED = 2e-2  # of results with parts of 16 bits
LEAST_SIZE = 1e-2  # a tensor of smaller numbers is compared as if its largest number were this


def judge(case: Case, ranks: Ranks) -> list[str]:
    """Return what differs between the engine and the reference, one sentence each; nothing if the case passes."""
    outcomes = ranks.run(case)
    expected = train_plainly(case, outcomes[0].initial if case.draws != "torch" and outcomes[0].initial else None)
    if (refusal := _first_refusal(outcomes)) is not None:
        return _judge_refusal(refusal, expected[0].refusal)
    if expected[0].refusal is not None:
        return [f"the engine trains what torch refuses: {expected[0].refusal.text}"]
    found = [*_compare_ranks(case, outcomes, expected)]
    if case.resumes_at is not None:
        found += _compare_resumed(outcomes, ranks.run(case, pauses=True))
    return found


def _first_refusal(outcomes: Sequence[Outcome]) -> Refusal | None:
    """Return the error of a rank, if possible one that is no echo of another rank's."""
    refusals = [one.refusal for one in outcomes if one.refusal is not None]
    return min(refusals, key=lambda one: one.kind in ("NoAnswer", "RankLost"), default=None)


def _judge_refusal(refusal: Refusal, expected: Refusal | None) -> list[str]:
    is_own = any(re.search(pattern, refusal.text) for pattern in REFUSALS)
    if is_own and refusal.steps == 0:
        return []
    when = f"after {refusal.steps} steps" if refusal.steps else "before the first step has ended"
    as_torch = f"; torch refuses too: {expected.text}" if expected else ""
    return [f"the engine ends {when} with {refusal.kind}: {refusal.text}{as_torch}\n{refusal.trace}"]


def _compare_ranks(case: Case, outcomes: Sequence[Outcome], expected: Sequence[Outcome]) -> Iterator[str]:
    for rank, (found, plain) in enumerate(zip(outcomes, expected, strict=True)):
        yield from _compare_tensors(case, f"rank {rank}: first weight", found.initial, plain.initial)
        if case.draws != "torch" and not _are_equal(found.initial, outcomes[0].initial):
            yield f"rank {rank} begins with other weights than rank 0"
        for kind in ("parameters", "buffers", "average_parameters", "average_buffers"):
            yield from _compare_tensors(case, f"rank {rank}: {kind}", getattr(found, kind), getattr(plain, kind))
        if wrong := sorted(name for name in plain.modes if found.modes.get(name) != plain.modes[name]):
            yield f"rank {rank}: the modes of {wrong} are not those of the constructor"
        if not _are_equal(found.parameters, outcomes[0].parameters):
            yield f"rank {rank} ends with other weights than rank 0"
        yield from _compare_numbers(case, f"rank {rank}: losses", found.losses, plain.losses)
        for name, at in (("held-out losses", 0), ("accuracies", 1)):
            numbers = [of[at] for of in found.evaluations], [of[at] for of in plain.evaluations]
            if not (at and case.is_rounded):  # a rounded logit may change the largest one
                yield from _compare_numbers(case, f"rank {rank}: {name}", *numbers)


def _compare_tensors(case: Case, what: str, found: Tensors, expected: Tensors) -> Iterator[str]:
    if found.keys() != expected.keys():
        yield f"{what}: the names {sorted(found.keys() ^ expected.keys())} are on one side only"
    for name in found.keys() & expected.keys():
        mine, plain = found[name], expected[name]
        if mine.dtype != plain.dtype or mine.shape != plain.shape:
            yield f"{what} {name} is {mine.dtype} {list(mine.shape)}, and not {plain.dtype} {list(plain.shape)}"
            continue
        least = max(float(plain.double().abs().max()), LEAST_SIZE)
        error = float((mine.double() - plain.double()).abs().max()) / least
        limit = _limit(case) if plain.is_floating_point() else 0.0
        if not error <= limit:
            yield f"{what} {name} differs by {error:.2g} of its size, above {limit:g}"


def _compare_numbers(case: Case, what: str, found: Sequence[float], expected: Sequence[float]) -> Iterator[str]:
    if len(found) != len(expected):
        yield f"{what}: {len(found)}, and not {len(expected)}"
    for number, (mine, plain) in enumerate(zip(found, expected, strict=False)):
        if not abs(mine - plain) <= _limit(case) * max(abs(plain), LEAST_SIZE):
            yield f"{what}: number {number} is {mine!r}, and not {plain!r}"


def _limit(case: Case) -> float:
    return ROUNDED if case.is_rounded else LIMITS[getattr(torch, case.dtype)]


def _compare_resumed(whole: Sequence[Outcome], resumed: Sequence[Outcome]) -> Iterator[str]:
    """Yield what differs, to the bit, between a run in one attempt and a resumed one."""
    if (refusal := _first_refusal(resumed)) is not None:
        yield f"the resumed run ends with {refusal.kind}: {refusal.text}\n{refusal.trace}"
        return
    for rank, (one, other) in enumerate(zip(whole, resumed, strict=True)):
        for kind in ("parameters", "buffers", "average_parameters", "average_buffers"):
            if not _are_equal(getattr(one, kind), getattr(other, kind)):
                wrong = [
                    name for name, x in getattr(one, kind).items() if not torch.equal(x, getattr(other, kind)[name])
                ]
                yield f"rank {rank}: {kind} {wrong} of the resumed run are others"
        if (one.losses, one.evaluations, one.modes) != (other.losses, other.evaluations, other.modes):
            yield f"rank {rank}: losses, evaluations or modes of the resumed run are others"


def _are_equal(one: Tensors, other: Tensors) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
