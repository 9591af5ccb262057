"""Values, names of fields and figures as texts of a sentence."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contract.api.answer import AnswerFigure, FigureSpread, FigureUnit
from contract.spec.grid.equal_values import value_key

MINUTE, HOUR = 60, 3600
DIGITS, MOST_DIGITS = 6, 17  # of a number; 17 tell all floats apart
NAMING = ("kind", "function")  # the fields of a choice that name it; `function` only of an import


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
        case float():
            return _number_text(value, DIGITS)
        case int():
            return str(value)
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
    """Return a text of each of these different values, which no other of them has.

    A choice is named by its kind, and by the fields that tell it from others of this kind. Where texts of different
    values are alike (1 and "1", true and "on"), the values are written as JSON.
    """
    texts = [value_text(value) for value in _differing(values)]
    exact = [json.dumps(value, sort_keys=True, default=str) for value in values]
    while True:  # the JSON of true may be the text of "true", which then is written as JSON as well
        counts = Counter(texts)
        pairs = zip(texts, exact, strict=True)
        told_apart = [json_text if counts[text] > 1 else text for text, json_text in pairs]
        if told_apart == texts:
            return texts
        texts = told_apart


def number_texts(numbers: Sequence[float]) -> dict[float, str]:
    """Return the text of each number of an axis, with as many digits as tell them apart, at least six."""
    for digits in range(DIGITS, MOST_DIGITS):
        texts = {number: _number_text(number, digits) for number in numbers}
        if len(set(texts.values())) == len(texts):
            return texts
    return {number: repr(number) for number in numbers}


def _number_text(number: float, digits: int) -> str:
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else f"{number:.{digits}g}"


def _differing(values: Sequence[object]) -> list[object]:
    """Return the values, each choice without the fields that all choices of its kind have alike."""
    kinds: dict[str, list[Mapping[str, object]]] = {}
    for value in values:
        if isinstance(value, Mapping):
            kinds.setdefault(value_key(_kind_of(value)), []).append(value)
    found = {key: _without_common(members) for key, members in kinds.items()}
    if len(kinds) == 1 and all(isinstance(value, Mapping) for value in values):
        return _without_kind(next(iter(found.values())))
    return [next(found[value_key(_kind_of(value))]) if isinstance(value, Mapping) else value for value in values]


def _without_common(members: Sequence[Mapping[str, object]]) -> Iterator[dict[str, object]]:
    names = dict.fromkeys(name for one in members for name in one)
    varied = [name for name in names if len({value_key([one[name]] if name in one else []) for one in members}) > 1]
    for one in members:
        yield _kind_of(one) | {name: one[name] for name in varied if name in one}


def _without_kind(choices: Iterable[dict[str, object]]) -> list[object]:
    """Return the fields of choices that all have one kind: a single field that is a word or a choice stands alone."""
    all_choices = list(choices)
    if len(all_choices) == 1:
        return [*all_choices]
    fields = [{name: value for name, value in one.items() if name not in NAMING} for one in all_choices]
    if any(one.keys() != fields[0].keys() for one in fields):
        return [*all_choices]
    alone = [next(iter(one.values())) for one in fields] if len(fields[0]) == 1 else []
    return alone if alone and all(isinstance(value, str | Mapping) for value in alone) else [*fields]


def _kind_of(value: Mapping[str, object]) -> dict[str, object]:
    names = NAMING if value.get("kind") == "import" else NAMING[:1]
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
