"""Whether two runs with equal specs compute the same, as far as the spec shows."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from contract.validation import ValidationIssue


def check_reuse(*, wanted: bool, obstacle: str | None) -> Iterator[ValidationIssue]:
    """Yield an issue if a run may not take a finished run's result and asks for that."""
    if wanted and obstacle:
        yield ValidationIssue(path="reuse", message=f"{obstacle}; or set reuse to false")


def obstacle_of_engine(imports: Mapping[str, object], data_path: str | None, inputs: Mapping[str, str]) -> str | None:
    """Return why an engine run with an equal spec may compute something else; None if it computes the same."""
    if imports:
        return f"the code of own parts ({', '.join(imports)}) is in no snapshot, so nobody knows whether it has changed"
    return _obstacle_of_data(data_path, inputs)


def obstacle_of_program(code: str | None, data_path: str | None, inputs: Mapping[str, str]) -> str | None:
    """Return why a program with an equal spec may compute something else; None if its code and data are known."""
    if not code:
        return "without a code snapshot (`code`) nobody knows which code a finished run had: add it"
    return _obstacle_of_data(data_path, inputs)


def _obstacle_of_data(data_path: str | None, inputs: Mapping[str, str]) -> str | None:
    if data_path and not any(_overlap(data_path, path) for path in inputs.values()):
        return f"the data in {data_path} may change: name it, or a file in it that changes with it, in `inputs`"
    return None


def _overlap(first: str, second: str) -> bool:
    """Return whether one path is the other one, or is in it."""
    paths = PurePosixPath(first), PurePosixPath(second)
    return paths[0].is_relative_to(paths[1]) or paths[1].is_relative_to(paths[0])
