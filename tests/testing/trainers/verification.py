"""Many plans proven at once: each gets chunks of its own, and a proof of them all is a proof of each."""

from collections.abc import Iterator, Sequence

from trainers.collectives.plan import Plan, Round, Sends, together
from trainers.collectives.verify import check


def prove(plans: Sequence[Plan]) -> None:
    """Prove plans of one world; raise ValueError with the first fault of any."""
    ends = [sum(plan.chunks for plan in plans[: number + 1]) for number in range(len(plans))]
    moved = (_moved(plan, end - plan.chunks) for plan, end in zip(plans, ends, strict=True))
    check(together(*moved), world=plans[0].world, chunks=ends[-1])


def _moved(plan: Plan, by: int) -> Iterator[Round]:
    for sends in plan:
        src_M, dst_M, start_M, size_M, add_M = Sends.of(sends).columns
        yield Sends(src_M, dst_M, start_M + by, size_M, add_M)
