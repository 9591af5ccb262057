"""The error of a collective that a rank left."""


class RankLost(ConnectionError):
    """A rank died or stalls; the message names it and the round.

    `ranks`: who is lost, as numbered in the group; empty if nobody could be named.
    `is_silent`: they were not seen to die, so nobody but who waited for them knows of it.
    `in_round`: in which round of the collective they were missed, where that is known.
    """

    def __init__(self, message: str, ranks: list[int], *, is_silent: bool = False, in_round: int | None = None) -> None:
        super().__init__(message)
        self.ranks, self.is_silent, self.in_round = ranks, is_silent, in_round
