"""Artifacts of other runs that a spec names by their paths: what a file contains counts, not in which folder it is.

A step's reference to an output is filled in as a path in the folder of the run that wrote it. Two runs that read equal
files from two folders compute the same.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.folder.stored_checkpoints import FOLDER
from store.tables.artifacts import Artifact
from store.tables.runs import Run
from store.tables.steps import Step

LONGER = re.compile(r"[\w.-]")  # after a path: the path goes on, so it is another one
RUN_FOLDER = re.compile(r"(?<![\w-])(\d{6,18})-([0-9a-f]{12,20})(?=/)")  # RunFolder.of


class Named(NamedTuple):
    """An artifact whose path a spec may have."""

    folder: str  # the name of the run folder
    path: str  # in that folder
    sha256: str
    name: str  # of the artifact
    step: str | None  # of the run that wrote it

    @property
    def text(self) -> str:
        """The end of the path, as JSON has it."""
        return _inside_json(f"{self.folder}/{self.path}")

    @property
    def reference(self) -> str:
        """A name that stays when the step is carried out again."""
        return f"steps.{self.step}.outputs.{self.name}" if self.step else f"{self.folder}/{self.path}"


def with_hashes(db: Session, documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the documents with the hash of each artifact in place of the name of its run folder."""
    texts = [_text(document) for document in documents]
    found = find_named(db, texts)
    if not found:
        return [json.loads(text) for text in texts]
    return [json.loads(_replace(text, found, lambda one: f"artifact-{one.sha256}/{one.path}")) for text in texts]


class Read(NamedTuple):
    """What a spec says when references stand for the paths of artifacts, and the hashes of what it refers to."""

    spec: dict[str, Any]
    hashes: dict[str, str]  # by reference; of several files one hash of all


def with_references(db: Session, documents: Sequence[Mapping[str, Any]]) -> list[Read]:
    """Return the documents with names that stay the same in place of paths of artifacts."""
    texts = [_text(document) for document in documents]
    found = find_named(db, texts)
    return [_read(text, found) for text in texts]


def _text(document: Mapping[str, Any]) -> str:
    """Return the document as JSON, with the file of its initial weights as one path, like any other artifact."""
    weights = document.get("initial_weights")
    if isinstance(weights, dict) and weights.get("folder") and weights.get("checkpoint"):
        path = f"{weights['folder']}/{FOLDER}/{weights['checkpoint']}"
        document = {**document, "initial_weights": {"checkpoint": path}}
    return json.dumps(document, ensure_ascii=False)


Found = Mapping[
    str, Sequence[tuple[str, Named]]
]  # by run folder: the ends of paths as JSON has them, the longest first


def find_named(db: Session, texts: Collection[str]) -> Found:
    """Return the artifacts that are there in the run folders which the texts name."""
    folders = {match.group(0): int(match.group(1)) for text in texts for match in RUN_FOLDER.finditer(text)}
    if not folders:
        return {}
    query = (
        select(Run.id, Run.key, Artifact.path, Artifact.sha256, Artifact.name, Step.name.label("step"))
        .join(Artifact, Artifact.holder_id == Run.id)
        .outerjoin(Step, Step.id == Run.step_id)
        .where(Artifact.run_id == Artifact.holder_id, Artifact.removed_at.is_(None), Run.id.in_(set(folders.values())))
    )
    found: dict[str, list[tuple[str, Named]]] = {}
    for row in db.execute(query):
        if (folder := f"{row.id:06}-{row.key}") in folders:
            one = Named(folder, row.path, row.sha256, row.name, row.step)
            found.setdefault(folder, []).append((one.text, one))
    return {folder: sorted(each, key=lambda one: (-len(one[0]), one)) for folder, each in found.items()}


def _places(text: str, found: Found) -> Iterator[tuple[int, int, Named]]:
    """Yield where the text names an artifact, in its order; a longer path that begins like one is another."""
    for match in RUN_FOLDER.finditer(text):
        start = match.start()
        for path, one in found.get(match.group(0), ()):
            if text.startswith(path, start) and not LONGER.match(text, start + len(path)):
                yield start, start + len(path), one
                break


def _replace(text: str, found: Found, by: Callable[[Named], str]) -> str:
    parts, end = [], 0
    for start, stop, one in _places(text, found):
        parts += [text[end:start], _inside_json(by(one))]
        end = stop
    return "".join([*parts, text[end:]])


def _inside_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _read(text: str, found: Found) -> Read:
    hashes: dict[str, list[str]] = {}
    for _, _, one in _places(text, found):
        hashes.setdefault(one.reference, []).append(one.sha256)
    # the folder of all runs is a constant; each run folder in it is not
    named = _replace(text, found, lambda one: f"{{{one.reference}}}")
    return Read(json.loads(named), {name: _joint(each) for name, each in hashes.items()})


def _joint(hashes: Sequence[str]) -> str:
    return hashes[0] if len(hashes) == 1 else sha256(" ".join(hashes).encode()).hexdigest()
