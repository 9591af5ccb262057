"""`python -m migrations upgrade | downgrade REVISION | new MESSAGE | check | state`: manage the database schema."""

import sys

from contract.process_settings import read_process_settings
from contract.refusal import refuse
from migrations.commands import check, downgrade, new, state, upgrade
from store.database_state import no_answer, start_problem


def main(arguments: list[str]) -> int:
    """Run one command on the settings' database; return 0. `check` raises if it finds a difference."""
    url = read_process_settings().database_url()
    if problem := no_answer(url) if arguments == ["state"] else start_problem(url):
        refuse(problem)
    match arguments:
        case ["upgrade"]:
            upgrade(url)
        case ["downgrade", revision]:
            downgrade(url, revision)
        case ["new", message]:
            new(url, message)
        case ["check"]:
            check(url)
        case ["state"]:
            print(*state(url))
        case _:
            sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
