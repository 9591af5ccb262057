"""`bigbatch artifacts`: list what a run left, and download it."""

import hashlib
import tarfile
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.exports.output import write_output
from bigbatch.errors import BigbatchError
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import print_table
from contract.api.artifacts.views import ArtifactView
from contract.lifecycle.artifact import ArtifactKind


def artifacts(
    run_id: Annotated[int, typer.Argument(help="The run.")],
    name: Annotated[list[str] | None, typer.Option(help="Only this artifact; repeat it.")] = None,
    *,
    download: Annotated[bool, typer.Option("--download", help="Download them.")] = False,
    folder: Annotated[
        Path, typer.Option("--to", help="Folder of the downloads; default: the working folder.")
    ] = Path(),
) -> None:
    """List what a run left, or download it: files as they are, folders and checkpoints unpacked."""
    with Client() as client:
        answer = client.artifacts(run_id)
        found = answer.items
        wanted = [one for one in found if not name or one.name in name]
        if absent := sorted(set(name or ()) - {one.name for one in found}):
            raise BigbatchError(f"run {run_id} has no artifact '{absent[0]}'")
        if not download:
            _print(wanted)
            if answer.object_store and answer.object_store.sentence:
                print_message(answer.object_store.sentence)
            return
        for artifact in wanted:
            if artifact.removed_at is None:
                _download(client, run_id, artifact, folder)


def _print(items: list[ArtifactView]) -> None:
    rows = [
        (one.name, one.kind, f"{one.size_bytes:,}", str(one.files), one.sha256[:12], one.path, _state(one))
        for one in items
    ]
    print_table(["name", "kind", "bytes", "files", "sha256", "path", "state"], rows)


def _state(artifact: ArtifactView) -> str:
    if artifact.removed_at is None:
        state = "there" if artifact.attempt else f"from run {artifact.run}"
        return f"{state}, {artifact.mirror.state}" if artifact.mirror else state
    return f"removed {artifact.removed_at:%Y-%m-%d %H:%M} UTC ({artifact.removed_because})"


def _download(client: Client, run_id: int, artifact: ArtifactView, folder: Path) -> None:
    ending = PurePosixPath(artifact.path).suffix if artifact.kind is ArtifactKind.FILE else ""
    target = folder / f"{artifact.name}{ending}"  # no two artifacts of a run have one name
    if target.exists():
        raise BigbatchError(f"{target} exists: remove it, or choose another folder with --to")
    folder.mkdir(parents=True, exist_ok=True)
    archive = target if artifact.kind is ArtifactKind.FILE else target.with_name(f"{target.name}.tar")
    write_output(archive, partial(_write, client, run_id, artifact))
    if archive == target:
        return
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")  # which refuses paths and links that lead out of the folder
    target.mkdir(exist_ok=True)  # an empty folder has no entry
    archive.unlink()


def _write(client: Client, run_id: int, artifact: ArtifactView, file: IO[bytes]) -> int:
    """Write the download; raise BigbatchError if a file's bytes are not those that were hashed at the run's end."""
    size = client.download_artifact(run_id, artifact.name, file)
    if artifact.kind is ArtifactKind.FILE:
        file.flush()
        with open(file.name, "rb") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
        if digest != artifact.sha256:
            raise BigbatchError(f"the artifact '{artifact.name}' has changed since the end of run {run_id}")
    return size
