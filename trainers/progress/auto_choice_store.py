"""AutoChoiceStore: the collectives that `auto` chose, stored in the run folder for later attempts. Rank 0 uses it."""

from collections.abc import Callable

from contract.folder.auto_choice import CollectiveChoices
from contract.folder.run_folder import RunFolder

# called with the choices, whether an earlier attempt made them, and why earlier choices do not apply
ReportChoices = Callable[[CollectiveChoices, bool, str | None], None]


class AutoChoiceStore:
    """The choices of a run."""

    def __init__(self, folder: RunFolder, report: ReportChoices) -> None:
        self._folder, self._report = folder, report

    def read(self, hosts: list[int]) -> tuple[CollectiveChoices | None, str | None]:
        """Return an earlier attempt's choices for the same number of ranks on each host, else None and the reason."""
        try:
            choices = self._folder.read_choices()
        except (OSError, ValueError) as error:
            return None, f"collective.json could not be read: {' '.join(str(error).split())}"
        if choices and choices.hosts != hosts:
            return None, f"they were for {_count(choices.hosts)}, and this attempt has {_count(hosts)}"
        return choices, None

    def reuse(self, choices: CollectiveChoices) -> None:
        """Report that an earlier attempt's choices apply."""
        self._report(choices, True, None)

    def write(self, choices: CollectiveChoices, note: str | None) -> None:
        """Store and report new choices; `note` says why an earlier attempt's choices do not apply."""
        self._folder.write_choices(choices)
        self._report(choices, False, note)


def _count(hosts: list[int]) -> str:
    return f"{sum(hosts)} rank{'s' if sum(hosts) > 1 else ''} on {len(hosts)} host{'s' if len(hosts) > 1 else ''}"
