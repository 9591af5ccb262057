"""What the service could not read of what a run wrote: its folder is gone, or lines of its files are damaged."""

from pydantic import BaseModel, ConfigDict


class Unread(BaseModel):
    """Counts over all attempts of one run."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    lines: int = 0  # of events and points that are none
    size_bytes: int = 0  # of these lines
    folder_gone: bool = False  # while a job of the run was there
    # the last step that was stored when the events of earlier attempts were lost: the next attempt does not know them,
    # so the service counts which steps it repeats
    lost_history: int | None = None
    metrics: str | None = None  # a sentence on another tracker, of which no metric is read

    @property
    def is_shown(self) -> bool:
        """Whether a person should know."""
        return bool(self.lines or self.folder_gone or self.metrics)
