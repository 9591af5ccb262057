"""The error of a collective that a rank left."""


class RankLost(ConnectionError):
    """A rank died or stalls; the message names it and the round.

    `ranks`: who is lost, as numbered in the group; empty if nobody could be named.
    `is_silent`: they were not seen to die, so nobody but who waited for them knows of it.
    """

    def __init__(self, message: str, ranks: list[int], *, is_silent: bool = False) -> None:
        super().__init__(message)
        self.ranks, self.is_silent = ranks, is_silent
