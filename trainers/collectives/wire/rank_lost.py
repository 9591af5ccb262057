"""RankLost: the error of a collective that lost a rank."""


class RankLost(ConnectionError):
    """Report that a rank died or stopped responding; the message names the rank and the round.

    `ranks`: the lost ranks of the group; empty if the cause is unknown.
    `is_unresponsive`: the ranks stopped responding; False if a closed connection proves that the ranks died.
    `in_round`: the first round of the collective that lacks their messages, if known.
    """

    def __init__(
        self, message: str, ranks: list[int], *, is_unresponsive: bool = False, in_round: int | None = None
    ) -> None:
        super().__init__(message)
        self.ranks, self.is_unresponsive, self.in_round = ranks, is_unresponsive, in_round
