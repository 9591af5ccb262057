"""What a run that asks for the result of a finished run waits for."""

from enum import StrEnum


class Reuse(StrEnum):
    """The steps of a run with `reuse: true`.

    wanted: the service has not looked for a finished run yet. forced: the client wants the run carried out; the hashes
    of its inputs are still missing. checked: the run is carried out, because no finished run equals it or the client
    wants it; or it has taken a result.
    """

    WANTED = "wanted"
    FORCED = "forced"
    CHECKED = "checked"
