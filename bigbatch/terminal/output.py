"""Output in a terminal: tables, JSON, percentages, ages and run names."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from pydantic import BaseModel
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from bigbatch.terminal.control_characters import show_control_characters
from bigbatch.terminal.streams import unchanged
from bigbatch.terminal.table_layout import lay_out
from contract.api.objective import ShownObjective
from contract.api.responses import RunView
from contract.metric_direction import key_metric
from contract.metric_names import HELDOUT_ACCURACY, KNOWN, LOSS, SLOWEST_RANK, TIME_PARTS, is_secondary
from contract.spec.grid.value_text import describe_values

Cells = tuple[str, ...]
SHOWN_SERIES = 3  # of a program
WIDE, NARROW_INDENT = 80, 4  # columns of a terminal that has room for an indent, and the indent of others
DEFAULT_WIDTH = 250  # columns if the output is not a terminal


class _ShownConsole(Console):
    """A console that colors, and shows control characters of all texts as text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the parts of what is printed; those that move the cursor are the console's own."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=show_control_characters(part.text))


def make_console(*, stderr: bool = False) -> Console:
    """Return a console without markup, because names may contain rich's markup characters."""
    stream = unchanged(sys.stderr if stderr else sys.stdout)
    width = None if stream.isatty() else DEFAULT_WIDTH
    return _ShownConsole(file=stream, width=width, markup=False, emoji=False, highlight=False)


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table without truncated cells and, as far as the terminal's width allows, without broken words."""
    out = make_console()
    shown = [[*map(show_control_characters, row)] for row in rows]  # before the columns are measured
    out.print(lay_out([*map(show_control_characters, heads)], shown, out.width, may_turn=out.is_terminal))


def print_text(text: str) -> None:
    """Print text whose lines a terminal has within its width; a file gets them as they are."""
    out = make_console()
    out.print(Text(text, overflow="fold"), soft_wrap=not out.is_terminal)


def print_indented(out: Console, text: str, indent: int, *, style: str = "") -> None:
    """Print a text behind an indent, which all its lines have in a terminal; a narrow one has a small indent."""
    if out.is_terminal:
        room = indent if out.width >= WIDE else NARROW_INDENT
        out.print(Padding(Text(text, overflow="fold"), (0, 0, 0, room)), style=style)
    else:
        out.print(f"{'':<{indent}}{text}", style=style, soft_wrap=True)


def print_json(answer: BaseModel | Sequence[BaseModel]) -> None:
    """Print the models as JSON, for programs."""
    models = [answer] if isinstance(answer, BaseModel) else answer
    plain = [model.model_dump(mode="json") for model in models]
    print(json.dumps(plain[0] if isinstance(answer, BaseModel) else plain, indent=2))


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, such as "3 runs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_percent(share: float | None, digits: int = 0) -> str:
    """Return a fraction as a percentage; "-" for None."""
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def format_accuracy(run: RunView) -> str:
    """Return the run's newest held-out accuracy."""
    return format_metric(HELDOUT_ACCURACY, run.latest.get(HELDOUT_ACCURACY))


def best_title(objective: ShownObjective) -> str:
    """Return the objective as the head of a column: "best val_loss"."""
    return f"{objective.value} {'accuracy' if objective.metric == HELDOUT_ACCURACY else objective.metric}"


def format_metric(name: str, value: float | None) -> str:
    """Return the value of a metric: the engine's accuracy in percent, unless a program logs percent under its name."""
    is_share = name == HELDOUT_ACCURACY and value is not None and 0 <= value <= 1
    return format_percent(value, 2) if is_share else format_figure(value)


def format_steps(run: RunView, separator: str = "/") -> str:
    """Return the step of a run and the number of its steps, where that is known."""
    return f"{run.step}{separator}{run.steps}" if run.steps else str(run.step)


def format_result(run: RunView, objective: ShownObjective | None = None) -> str:
    """Return the run's held-out accuracy, or the newest values of what a program reports, and its best value."""
    names = shown_series(run)
    if HELDOUT_ACCURACY in names[:1]:
        return f"held-out accuracy {format_accuracy(run)}{_best_text(run, objective)}"
    more = len(own_series(run)) + run.more_metrics - len(names)
    values = format_values(run) + _best_text(run, objective)
    return values + (f", {more} more: bigbatch show {run.experiment_id} --metrics" if more else "")


def _best_text(run: RunView, objective: ShownObjective | None) -> str:
    """Return the run's value of the objective, unless it is the newest value of its metric."""
    if objective is None or objective.value == "last" or run.objective_value is None:
        return ""
    metric = objective.metric
    best = format_metric(metric, run.objective_value)
    if best == format_metric(metric, run.latest.get(metric)):
        return ""
    return f" (best {best})" if metric == HELDOUT_ACCURACY else f" (best {metric} {best})"


def format_values(run: RunView) -> str:
    """Return the newest values of the few series that stand for the others."""
    return ", ".join(f"{name} {format_figure(run.latest[name])}" for name in shown_series(run)) or "no metrics"


def shown_series(run: RunView) -> list[str]:
    """Return the names of the few series that stand for the others: the main one first."""
    own = own_series(run)
    main = key_metric(own)
    # the engine's measurements come last: a program has some of them too
    others = sorted(own, key=lambda name: name in KNOWN and name != LOSS)
    return list(dict.fromkeys([*([main] if main else []), *others]))[:SHOWN_SERIES]


def own_series(run: RunView) -> list[str]:
    """Return the names of the series that a run reports, without time splits and series of single ranks and nodes."""
    return [name for name in run.latest if name not in (*TIME_PARTS, SLOWEST_RANK) and not is_secondary(name)]


def format_figure(value: float | None) -> str:
    """Return a number with four significant digits; "-" for None."""
    return "-" if value is None else f"{value:.4g}"


def format_seconds(seconds: float | None) -> str:
    """Return a duration: seconds below two minutes, then minutes, then hours; "-" for None."""
    if seconds is None:
        return "-"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def format_age(moment: datetime) -> str:
    """Return the time since `moment` in its largest unit."""
    seconds = max(0, round((datetime.now(UTC) - moment).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def run_name(run: RunView) -> str:
    """Return the run's id and values."""
    return f"run {run.id} {describe_values(run.values)}".rstrip()
