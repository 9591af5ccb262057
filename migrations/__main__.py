"""`python -m migrations upgrade | downgrade REVISION | new MESSAGE | check | state`: manage the database schema."""

import sys

from contract.process_settings import read_process_settings
from contract.refusal import refuse
from contract.settings import RESTORED, Settings
from migrations.commands import check, downgrade, new, state, upgrade
from store.database_state import no_answer, start_problem, unknown_version
from store.restored import Restored, bring_up
from store.session import engine_for


def main(arguments: list[str]) -> int:
    """Run one command on the settings' database; return 0. `check` raises if it finds a difference."""
    settings = read_process_settings()
    url = settings.database_url()
    if problem := no_answer(url) if arguments == ["state"] else start_problem(url):
        refuse(problem)
    match arguments:
        case ["upgrade"]:
            upgrade(url)
            _bring_up(settings)
        case ["downgrade", revision]:
            downgrade(url, revision)
        case ["new", message]:
            new(url, message)
        case ["check"]:
            check(url)
        case ["state"]:
            print(*state(url))
            if unknown := unknown_version(url):
                print(unknown)
        case _:
            sys.exit(__doc__)
    return 0


def _bring_up(settings: Settings) -> None:
    """Bring a database that was restored up to its run folders, before any part of the service works with it."""
    marker, root = settings.home_folder() / RESTORED, settings.runs_folder()
    is_home = marker.exists()
    restored = Restored(is_home, is_home and root.is_relative_to(settings.home_folder()))
    try:
        done = bring_up(engine_for(settings.database_url()), root, restored)
    except OSError as error:
        message = f"whether the database is older than the run folders is not known: {error}"
        if is_home:  # surely it is
            sys.exit(message)
        done = [f"{message}; the worker looks again before it writes there"]
    for sentence in done:
        print(sentence, file=sys.stderr, flush=True)
    if is_home:
        marker.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
