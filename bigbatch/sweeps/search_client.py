"""The client's methods for searches: read, pause, resume, extend."""

from bigbatch.connection import Connection
from contract.api.search import SearchChanged, SearchDetail, SearchExtension


class SearchClient:
    """The methods; `Client` has the connection."""

    _connection: Connection

    def search(self, experiment_id: int) -> SearchDetail:
        """Return the search of an experiment with its trials, the best one, and the importance of its parameters."""
        return self._connection.get(f"/experiments/{experiment_id}/search", SearchDetail)

    def pause_search(self, experiment_id: int) -> SearchChanged:
        """Pause a search: it starts no trial, and its runs stop with a checkpoint."""
        return self._connection.change("POST", f"/experiments/{experiment_id}/search/pause", SearchChanged)

    def resume_search(self, experiment_id: int) -> SearchChanged:
        """Let a search go on that was paused or stopped."""
        return self._connection.change("POST", f"/experiments/{experiment_id}/search/resume", SearchChanged)

    def extend_search(
        self, experiment_id: int, *, trials: int | None = None, rank_hours: float | None = None
    ) -> SearchChanged:
        """Give a search more trials in all, or a larger budget."""
        asked = SearchExtension(trials=trials, rank_hours=rank_hours)
        return self._connection.change("POST", f"/experiments/{experiment_id}/search/extend", SearchChanged, asked)
