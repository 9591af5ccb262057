"""What `auto` chose, kept in the run folder from one attempt to the next; only rank 0 asks."""

from collections.abc import Callable

from contract.folder.auto_choice import Choices
from contract.folder.run_folder import RunFolder

Say = Callable[[Choices, bool, str | None], None]  # whether they are an earlier attempt's; why those were not kept


class Kept:
    """The choices of a run."""

    def __init__(self, folder: RunFolder, say: Say) -> None:
        self._folder, self._say = folder, say

    def read(self, hosts: list[int]) -> tuple[Choices | None, str | None]:
        """The choices of an earlier attempt on as many ranks of as many hosts; else none, and why not."""
        try:
            choices = self._folder.read_choices()
        except (OSError, ValueError) as error:
            return None, f"collective.json could not be read: {' '.join(str(error).split())}"
        if choices and choices.hosts != hosts:
            return None, f"they were for {_in_words(choices.hosts)}, and this attempt has {_in_words(hosts)}"
        return choices, None

    def take_up(self, choices: Choices) -> None:
        """Say that an earlier attempt's choices hold."""
        self._say(choices, True, None)

    def keep(self, choices: Choices, note: str | None) -> None:
        """Keep new choices; `note` says why an earlier attempt's do not hold."""
        self._folder.keep_choices(choices)
        self._say(choices, False, note)


def _in_words(hosts: list[int]) -> str:
    return f"{sum(hosts)} rank{'s' if sum(hosts) > 1 else ''} on {len(hosts)} host{'s' if len(hosts) > 1 else ''}"
