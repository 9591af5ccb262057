"""The snapshot that `bigbatch submit` takes for a program whose spec does not say where its code is."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigbatch.snapshot.capture import MAX_MB
from bigbatch.snapshot.take import SnapshotRef, take_snapshot

if TYPE_CHECKING:
    from bigbatch.client import Client

PLACES = ("code", "working_folder")  # fields that say where the code is


def attach_snapshot(
    document: Mapping[str, Any], folder: Path, client: "Client", *, max_mb: float = MAX_MB
) -> tuple[dict[str, Any], SnapshotRef | None]:
    """Return the document of an experiment with a snapshot of `folder`, and the snapshot.

    An engine run, and a program that says where its code is, stay as they are. Raise SnapshotError.
    """
    if not needs_snapshot(document):
        return dict(document), None
    taken = take_snapshot(folder, client, max_mb=max_mb)
    if "steps" not in document:
        return _with_code(document, taken), taken
    steps = [_with_code(step, taken) if _needs_code(step) else step for step in document["steps"]]
    return {**document, "steps": steps}, taken


def needs_snapshot(document: Mapping[str, Any]) -> bool:
    """Return whether the experiment, or a step of it, is of a program and leaves open where its code is."""
    steps = document.get("steps")
    parts = [one for one in steps if isinstance(one, dict)] if isinstance(steps, list) else []
    return any(map(_needs_code, [document, *parts]))


def _with_code(part: Mapping[str, Any], taken: SnapshotRef) -> dict[str, Any]:
    base = {**part["base"], "code": taken.hash}
    if taken.subfolder:
        base.setdefault("subfolder", taken.subfolder)
    return {**part, "base": base}


def _needs_code(document: Mapping[str, Any]) -> bool:
    base, axes, variants = document.get("base"), document.get("axes"), document.get("variants")
    if not isinstance(base, dict) or base.get("kind") != "program":
        return False
    varied = [*(axes if isinstance(axes, dict) else ())]
    varied += [
        path for one in (variants if isinstance(variants, list) else ()) if isinstance(one, dict) for path in one
    ]
    return not any(base.get(place) or place in varied for place in PLACES)


def describe_snapshot(taken: SnapshotRef) -> list[str]:
    """Return the lines about the snapshot and what is not in it, for people."""
    lines = [_describe(taken), *(f"warning: not in the snapshot: {one}" for one in taken.left_out)]
    if taken.ignored:
        advice = "a program that reads them needs their absolute path"
        lines.append(f"left out: {', '.join(taken.ignored)}, by .gitignore; {advice}")
    return lines


def _describe(taken: SnapshotRef) -> str:
    size = f"{taken.size / 1e6:,.1f} MB" if taken.size >= 100_000 else f"{taken.size:,} bytes"
    line = f"code: snapshot {taken.hash[:12]}, {taken.files:,} files, {size}"
    if taken.source is None:
        return f"{line}, without git"
    changes = taken.source.staged + taken.source.unstaged + taken.source.untracked
    words = f" with {changes} {'change' if changes == 1 else 'changes'}" if changes else ""
    commit = (taken.source.commit or "no commit")[:10]
    return f"{line}, {taken.source.branch or 'no branch'} at {commit}{words}"
