"""`python -m migrations upgrade | downgrade REVISION | new MESSAGE | check | state`: manage the database schema."""

import sys

from contract.process_settings import read_process_settings
from migrations.commands import check, downgrade, new, state, upgrade


def main(arguments: list[str]) -> int:
    """Run one command on the settings' database; return 0. `check` raises if it finds a difference."""
    url = read_process_settings().database_url()
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
