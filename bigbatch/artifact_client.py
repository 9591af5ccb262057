"""The client's methods for what runs leave."""

from typing import IO

from bigbatch.connection import Connection
from contract.api.artifacts.reuse import RunReuse
from contract.api.artifacts.views import RunArtifacts


class ArtifactClient:
    """The methods; `Client` has the connection."""

    _connection: Connection

    def artifacts(self, run_id: int) -> RunArtifacts:
        """Return what a run left: its outputs and its checkpoints, removed ones too."""
        return self._connection.get(f"/runs/{run_id}/artifacts", RunArtifacts)

    def download_artifact(self, run_id: int, name: str, file: IO[bytes]) -> int:
        """Write an artifact to a file, a folder or a checkpoint as a tar archive; return the file's bytes."""
        return self._connection.download(f"/runs/{run_id}/artifacts/{name}", file, ask={})

    def reuse(self, run_id: int) -> RunReuse:
        """Return whether a run took a finished run's result; if not, how it differs from the nearest finished run."""
        return self._connection.get(f"/runs/{run_id}/reuse", RunReuse)
