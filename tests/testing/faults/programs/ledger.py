"""What chaos's programs noted in their ledgers, compared with what the service has: on a disk that no fault fills.

A ledger's line is FACT ATTEMPT PROCESS STEP, written by rank 0 alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.testing.faults.audit import events, taker_of


class Fact(NamedTuple):
    """One line of a ledger."""

    kind: str
    attempt: int
    process: int
    step: int


def read_ledger(path: Path) -> list[Fact]:
    """Return the facts in the order in which they became true; none of a program that never began."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Fact(kind, *map(int, numbers)) for kind, *numbers in (line.split() for line in lines)]


def ledger_faults(run: dict[str, Any], ledger: Path) -> list[str]:
    """Return in words what must not be of one run: twice, at the same time, or not stored although reported."""
    folder = Path(run["folder"])
    facts, reported = read_ledger(ledger / folder.name), events(folder)
    found = [*_begun_twice(facts), *_ended_twice(facts, reported, folder), *_unstored(facts, reported)]
    if all(source["kind"] != "output" for source in run["spec"]["metrics"] or ()):  # lines may be lost with an agent
        found += _wrong_restarts(facts, reported)
    return [f"run {run['id']}: {why}" for why in found]


def _begun_twice(facts: Sequence[Fact]) -> Iterator[str]:
    starts = Counter(fact.attempt for fact in facts if fact.kind == "began")
    yield from (f"attempt {attempt} began {count} times" for attempt, count in starts.items() if count > 1)
    order = [fact.attempt for fact in facts]
    if order != sorted(order):
        yield "an attempt of the program went on beside a later one"


def _ended_twice(facts: Sequence[Fact], reported: Sequence[dict[str, Any]], folder: Path) -> Iterator[str]:
    """Yield the number of ends that were recorded, if there are several.

    A host that is killed while its disk is full takes the end of its rank along: the next attempt repeats it rightly.
    """
    worlds = {line["attempt"]: line["world"] for line in reported if line["kind"] == "started"}
    ends = [fact.attempt for fact in facts if fact.kind == "ended"]
    recorded = {attempt: len([*folder.glob(f"attempts/{attempt}.exit-*")]) for attempt in ends}
    # an agent that is alone records no exit
    known = [attempt for attempt in ends if recorded[attempt] in (0, worlds.get(attempt))]
    if len(known) > 1:
        yield f"the program came to its end {len(known)} times"


def _unstored(facts: Sequence[Fact], reported: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the steps of which the program knew that they are reported, and that are in no event."""
    written = {(taker_of(line), line["step"]) for line in reported if line["kind"] == "points"}
    sure = {(float(fact.process), fact.step) for fact in facts if fact.kind == "reported"}
    if missing := sorted(step for process, step in sure - written):
        yield f"steps {missing} were reported and are in no event"


def _wrong_restarts(facts: Sequence[Fact], reported: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the restarts whose step is not that of the checkpoint which the program has read."""
    began = {fact.attempt: fact.step for fact in facts if fact.kind == "began"}
    for line in reported:
        if line["kind"] == "resumed" and line["attempt"] in began and line["step"] != began[line["attempt"]]:
            yield f"attempt {line['attempt']} resumed at {began[line['attempt']]}, reported as {line['step']}"
