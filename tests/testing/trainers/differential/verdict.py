"""Judge a case: train it by the engine and by the reference, and say what differs."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic import ValidationError

from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.compare import differences, differences_of_resumed
from tests.testing.trainers.differential.outcome import Outcome, Refusal
from tests.testing.trainers.differential.ranks import Ranks
from tests.testing.trainers.differential.reference import train_plainly
from tests.testing.trainers.differential.spec import spec_of

# what the engine refuses in its own words, and which cases have it
REFUSALS: dict[str, Callable[[Case], bool]] = {r"batch normalization needs at least 2": lambda case: case.is_refused}
BAD_SPEC = "the spec refuses the case"
FLOAT64, FLOAT32 = 1e-10, 1e-5  # relative to a tensor's size
# the last bit of a weight, which a fused kernel rounds otherwise, may decide how 16 bits round the weight: by 2^-8, and
# normalization over few samples makes more of it
OF_16_BITS = 0.1


def judge(case: Case, ranks: Ranks) -> list[str]:
    """Return what differs between the engine and the reference, one sentence each; nothing if the case passes."""
    try:
        spec_of(case)
    except ValidationError as error:
        return [] if _is_right(case, str(error)) else [f"{BAD_SPEC}: {error}"]
    if (found := _judge_by(case, ranks, limit_of(case))) and limit_of(case) == FLOAT32:
        # a net may amplify what the order of sums changes: then the same case in float64 passes the sharper limit
        is_rounding = not _judge_by(case, ranks, 100 * FLOAT32)
        if is_rounding and not _judge_by(replace(case, dtype="float64"), ranks, FLOAT64):
            return []
    return found


def limit_of(case: Case) -> float:
    """Return by which part of its size a result may differ from the reference's."""
    if "bfloat16_layer" in case.parts or case.precision != "float32":
        return OF_16_BITS
    return FLOAT64 if case.dtype == "float64" else FLOAT32


def _judge_by(case: Case, ranks: Ranks, limit: float) -> list[str]:
    outcomes = ranks.run(case)
    expected = train_plainly(case, outcomes[0].initial if case.draws != "torch" and outcomes[0].initial else None)
    if (refusal := _first_refusal(outcomes)) is not None:
        return _judge_refusal(case, refusal, expected[0].refusal)
    if expected[0].refusal is not None:
        return [f"the engine trains what torch refuses: {expected[0].refusal.text}"]
    # a logit of 16 bits may change which one is largest
    found = [*differences(outcomes, expected, limit=limit, with_accuracy=limit <= FLOAT32)]
    if case.resumes_at is not None:
        resumed = ranks.run(case, pauses=True)
        if (refusal := _first_refusal(resumed)) is not None:
            return [*found, f"the resumed run ends with {refusal.kind}: {refusal.text}\n{refusal.trace}"]
        found += differences_of_resumed(outcomes, resumed)
    return found


def _is_right(case: Case, text: str) -> bool:
    return any(re.search(pattern, text) and has(case) for pattern, has in REFUSALS.items())


def _first_refusal(outcomes: Sequence[Outcome]) -> Refusal | None:
    """Return the error of a rank, if possible one that is no echo of another rank's."""
    refusals = [one.refusal for one in outcomes if one.refusal is not None]
    return min(refusals, key=lambda one: one.kind in ("NoAnswer", "RankLost"), default=None)


def _judge_refusal(case: Case, refusal: Refusal, expected: Refusal | None) -> list[str]:
    # which batch normalization has one value shows in its pass: in a later epoch, if the batch changes
    if _is_right(case, refusal.text) and (refusal.steps == 0 or expected is not None):
        return []
    when = f"after {refusal.steps} steps" if refusal.steps else "before the first step has ended"
    as_torch = f"; torch refuses too: {expected.text}" if expected else ""
    return [f"the engine ends {when} with {refusal.kind}: {refusal.text}{as_torch}\n{refusal.trace}"]
