"""Repeat cases: `python -m tests.trainers.differential SEED...`, or `--case JSON` for a smallest form."""

import argparse
import sys
import time

import torch

from tests.testing.trainers.differential.case import Case
from tests.testing.trainers.differential.draw import draw, every_feature
from tests.testing.trainers.differential.ranks import Ranks
from tests.testing.trainers.differential.shrink import report
from tests.testing.trainers.differential.verdict import judge

SEARCHED = 20_000


def main() -> int:
    """Print what is wrong with each case; return 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m tests.trainers.differential", description=__doc__)
    parser.add_argument("seeds", nargs="*", help="a seed, or FIRST-LAST")
    parser.add_argument("--case", help="a case as JSON, which is not made smaller")
    parser.add_argument("--cover", action="store_true", help="print few seeds that together have every choice")
    parser.add_argument("--whole", action="store_true", help="do not look for the smallest form")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.cover:
        print(_cover())
    failed = 0
    with Ranks() as ranks:
        if chosen.case:
            print("\n".join(judge(Case.from_json(chosen.case), ranks)) or "equal")
        for seed in (seed for text in chosen.seeds for seed in _seeds(text)):
            start = time.perf_counter()
            case = draw(seed)
            text = "\n  ".join(judge(case, ranks)[:4]) if chosen.whole else report(case, ranks)
            failed += bool(text)
            print(f"seed {seed}: {text or 'equal'} ({time.perf_counter() - start:.2f} s)", flush=True)
    return 1 if failed else 0


def _cover() -> list[int]:
    """Return seeds whose cases have every part and every choice, chosen greedily."""
    features = {seed: draw(seed).features() for seed in range(SEARCHED)}
    left, seeds = every_feature(), list[int]()
    while left:
        seeds.append(max(features, key=lambda seed: len(features[seed] & left)))
        left -= features[seeds[-1]]
    return seeds


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    sys.exit(main())
