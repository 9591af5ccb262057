"""Values, names of fields and figures as texts of a sentence."""

import json
from collections.abc import Mapping, Sequence

from contract.api.answer import AnswerFigure, FigureSpread, FigureUnit

MINUTE, HOUR = 60, 3600
DIGITS, MOST_DIGITS = 6, 17  # of a number; 17 tell all floats apart


def axis_names(paths: Sequence[str]) -> list[str]:
    """Return the shortest unique end of each dotted path: schedule.rate -> rate, collective.kind -> collective."""
    parts = [path.removesuffix(".kind").split(".") for path in paths]
    leaves = [names[-1] for names in parts]
    ends = [names[-1:] if leaves.count(names[-1]) == 1 else names[-2:] for names in parts]
    return [" ".join(end).replace("_", " ") for end in ends]


def value_text(value: object) -> str:
    """Return a value in one line: 0.4, torus rows 2, on."""
    match value:
        case bool():
            return "on" if value else "off"
        case None:
            return "none"
        case str():
            return value or '""'
        case float() if value.is_integer() and abs(value) < 1e15:
            return f"{value:.0f}"
        case int() | float():
            return _digits_text(value) if isinstance(value, float) else str(value)
        case {"kind": "import", "function": function, **others}:  # torch.optim:RMSprop says what it is
            fields = dict(others)
            options = fields.pop("options", None)
            fields |= options if isinstance(options, dict) else {}
            return " ".join([str(function), *(_field_text(str(name), field) for name, field in fields.items())])
        case Mapping() if value:
            return " ".join(_field_text(name, inner) for name, inner in value.items())
        case list() if value:
            return ", ".join(map(value_text, value))
        case _:
            return json.dumps(value)


def distinct_texts(values: Sequence[object]) -> list[str]:
    """Return a text of each value that no other of these values has.

    A choice is named by its kind, and by fields only where several have that kind: sgd, torus rows 2, torus rows 4.
    Where texts of different values are alike (1 and "1", true and "on"), both are written as JSON.
    """
    texts = [value_text(_without_needless_fields(value, values)) for value in values]
    alike = {text for text in texts if texts.count(text) > 1}
    return [
        json.dumps(value, sort_keys=True) if text in alike else text for value, text in zip(values, texts, strict=True)
    ]


def numbers_texts(numbers: Sequence[float]) -> dict[float, str]:
    """Return the text of each number of an axis, with as many digits as tell them apart, six or more."""
    for digits in range(DIGITS, MOST_DIGITS):
        texts = {number: value_text(float(f"{number:.{digits}g}")) for number in numbers}
        if len(set(texts.values())) == len(texts):
            return texts
    return {number: repr(number) for number in numbers}


def _without_needless_fields(value: object, values: Sequence[object]) -> object:
    if not (isinstance(value, Mapping) and "kind" in value):
        return value
    naming = ("kind", "function") if value["kind"] == "import" else ("kind",)
    same = [other for other in values if isinstance(other, Mapping) and _named(other, naming) == _named(value, naming)]
    return _named(value, naming) if len(same) == 1 else value


def _named(value: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: value[name] for name in names if name in value}


def _field_text(name: str, value: object) -> str:
    return value_text(value) if name == "kind" else f"{name.replace('_', ' ')} {value_text(value)}"


def figure_text(value: float, unit: FigureUnit) -> str:
    """Return a figure: 98.33 %, 12.3 ms, 4 min 10 s, 0.1235."""
    match unit:
        case FigureUnit.SHARE:
            return f"{100 * value:.2f} %"
        case FigureUnit.SECONDS:
            return seconds_text(value)
        case FigureUnit.NUMBER:
            return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def seconds_text(seconds: float) -> str:
    """Return a duration with three digits: 12.3 ms, 8.21 s, 4 min 10 s, 2 h 5 min."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < MINUTE:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    size, unit, part, part_unit = (MINUTE, "min", 1, "s") if whole < HOUR else (HOUR, "h", MINUTE, "min")
    rest = whole % size // part
    return f"{whole // size} {unit}" + (f" {rest} {part_unit}" if rest else "")


def spread_text(spread: FigureSpread, figure: AnswerFigure) -> str:
    """Return mean and deviation: 98.10 % ± 0.21."""
    mean = figure_text(spread.mean, figure.unit)
    if spread.deviation is None:
        return mean
    if figure.unit is FigureUnit.SHARE:
        return f"{mean} ± {100 * spread.deviation:.2f}"
    return f"{mean} ± {figure_text(spread.deviation, figure.unit)}"
