"""How answers look in a terminal: tables, shares, ages, and a run's name."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from contract.api.responses import RunView
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.experiment import Values

WIDE = 250  # columns where there is no terminal that could be too narrow


def console(*, stderr: bool = False) -> Console:
    """A console that takes text as it is: names may hold what rich would read as markup."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDE
    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under their heads; the text of no cell is cut off."""
    table = Table(*heads, box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_json(answer: BaseModel | Sequence[BaseModel]) -> None:
    """Print what the service answered, for programs."""
    models = [answer] if isinstance(answer, BaseModel) else answer
    plain = [model.model_dump(mode="json") for model in models]
    print(json.dumps(plain[0] if isinstance(answer, BaseModel) else plain, indent=2))


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float | None, digits: int = 0) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def accuracy_of(run: RunView) -> str:
    return percent(run.latest.get(HELDOUT_ACCURACY), 2)


def age(moment: datetime) -> str:
    """How long ago, in its largest unit."""
    seconds = max(0, round((datetime.now(UTC) - moment).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def name_of(run: RunView) -> str:
    """A run as people tell it from its neighbors."""
    return f"run {run.id} {chosen(run.values)}".rstrip()


def chosen(values: Values) -> str:
    """What a point of the sweep varies."""
    return " ".join(f"{path}={_written(value)}" for path, value in values.items())


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
