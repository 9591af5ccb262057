"""Verify many plans in one call: each plan gets its own chunks, so the merged plan is correct if every plan is."""

from collections.abc import Iterator, Sequence

from trainers.collectives.plan import Plan, Round, Sends, run_in_parallel
from trainers.collectives.verify import verify_plan


def verify_together(plans: Sequence[Plan]) -> None:
    """Verify plans of one world; raise ValueError with the first error of any plan."""
    ends = [sum(plan.chunks for plan in plans[: number + 1]) for number in range(len(plans))]
    shifted = (_shifted(plan, end - plan.chunks) for plan, end in zip(plans, ends, strict=True))
    verify_plan(run_in_parallel(*shifted), world=plans[0].world, chunks=ends[-1])


def _shifted(plan: Plan, by: int) -> Iterator[Round]:
    for sends in plan:
        src_M, dst_M, start_M, size_M, add_M = Sends.of(sends).columns
        yield Sends(src_M, dst_M, start_M + by, size_M, add_M)
