"""Shrink a failing case: leave out parts and options one by one while the case still fails."""

from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.ranks import Ranks
from tests.testing.trainers.differential.verdict import BAD_SPEC, judge

MOST = 150  # cases that are tried


def shrink(case: Case, ranks: Ranks, *, most: int = MOST) -> Case:
    """Return the smallest failing case that is found greedily; `case` fails."""
    tried = 0
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for simpler in case.simpler():
            tried += 1
            if tried > most:
                return case
            if (wrong := judge(simpler, ranks)) and not wrong[0].startswith(BAD_SPEC):
                case, is_smaller = simpler, True
                break
    return case


def report(case: Case, ranks: Ranks) -> str | None:
    """Return what is wrong with a case, and its smallest form; None if it passes."""
    if not (wrong := judge(case, ranks)):
        return None
    smallest = shrink(case, ranks)
    lines = [f"seed {case.seed} (python -m tests.trainers.differential {case.seed}): {case.describe()}", *wrong[:8]]
    lines += [f"smallest form: {smallest.describe()}", *judge(smallest, ranks)[:4]]
    return "\n  ".join([*lines, f"repeat it by --case '{smallest.to_json()}'"])
