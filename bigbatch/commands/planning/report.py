"""The plan of a training job as text: memory, batch, ranks, K-FAC, and the fastest options."""

from collections.abc import Iterator

from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import format_percent, format_seconds, print_table
from bigbatch.terminal.units import format_bytes, format_duration
from contract.api.planning.plans import PlanOption, PlanReport
from contract.spec.choices.collectives import describe_collective

FASTEST = 12  # options that are shown


def print_plan(report: PlanReport) -> None:
    """Print a plan; the table has the fastest options, and the fastest with K-FAC and on a mesh wherever they stand."""
    _print_memory(report)
    _print_ranks(report)
    shown = list(chosen(report.options))
    columns = ("rule", "collective", "step", "exchange", "epoch", "run", "memory", "device-hours", "cost")
    print_table(columns, [_row(option) for option in shown])
    if len(report.options) > len(shown):
        print_message(f"and {len(report.options) - len(shown)} slower ones; --json has all")
    print_message("measured: " + ("; ".join(report.measured) or "nothing"))
    print_message("assumed: " + "; ".join(report.assumed))


def chosen(options: list[PlanOption]) -> Iterator[PlanOption]:
    """Yield the fastest options, then the fastest ones with K-FAC and on a mesh that are not among them."""
    yield from options[:FASTEST]
    first_with_kfac = next((number for number, one in enumerate(options) if one.has_kfac), 0)
    first_on_mesh = next((number for number, one in enumerate(options) if one.mesh_ranks > 1), 0)
    for number in sorted({first_with_kfac, first_on_mesh}):
        if number >= FASTEST:
            yield options[number]


def _print_memory(report: PlanReport) -> None:
    if (memory := report.memory) is None:
        return
    parts = ", ".join(f"{part.name} {format_bytes(part.bytes)}" for part in memory.parts)
    share = format_percent(memory.total_bytes / memory.device_bytes)
    print(f"memory of a rank: {format_bytes(memory.total_bytes)}, {share} of the device ({parts})")
    print(f"largest micro-batch that fits: {memory.largest_micro_batch:,}")


def _print_ranks(report: PlanReport) -> None:
    batch, scaling = report.batch, report.scaling
    print(
        f"batch {batch.batch:,} on {report.ranks:,} ranks: {batch.passes} passes of {batch.micro_batch:,} samples, "
        f"{batch.steps_per_epoch:,} steps an epoch"
    )
    for line in batch.advice:
        print(line)
    print(
        f"speed-up {scaling.speedup:.4g} of {report.ranks:,} by lemma 1 (R = {scaling.overhead:.3g}); at most "
        f"{scaling.advised_ranks:,} ranks are advised, and {scaling.servers:,} servers would hide the exchange"
    )
    if (kfac := report.kfac) is not None:
        print(
            f"K-FAC adds {format_duration(kfac.added_s)} to a step, {kfac.ratio:.2f} times a step without it: it pays "
            f"where it needs less than {kfac.pays_below:.0%} of the epochs"
        )


def _row(option: PlanOption) -> tuple[str, ...]:
    return (
        option.rule,
        describe_collective(option.collective) if option.collective else "its own",
        format_duration(option.step_s),
        format_duration(option.exchange_s),
        format_seconds(option.epoch_s),
        format_seconds(option.run_s),
        "-" if option.memory_bytes is None else format_bytes(option.memory_bytes),
        f"{option.device_hours:,.4g}",
        "-" if option.cost is None else f"{option.cost:,.2f}",
    )
