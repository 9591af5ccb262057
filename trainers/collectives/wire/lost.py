"""The error of a collective that a rank left."""


class RankLost(ConnectionError):
    """A rank died or stalls; the message names it and the round.

    `ranks`: who is lost, as numbered in the group; empty if nobody could be named.
    """

    def __init__(self, message: str, ranks: list[int]) -> None:
        super().__init__(message)
        self.ranks = ranks
