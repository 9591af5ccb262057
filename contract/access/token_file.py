"""The token file of a home folder: the service's token where `BIGBATCH_TOKEN` is not set, for its owner's eyes only."""

import os
import stat
from pathlib import Path
from secrets import token_urlsafe

from contract.folder.files.atomic_file import write_exclusive
from contract.settings import MIN_TOKEN_LENGTH

TOKEN_BYTES = 32
OWNER_ONLY = 0o600


class TokenFileError(Exception):
    """The token file cannot be used; the message says why and what to do."""


def read_or_create_token(home: Path) -> str:
    """Return the token in the home's token file; create the file with a random token if there is none.

    Raise TokenFileError for a file that another user can read or has made.
    """
    path = home / "token"
    try:
        home.mkdir(parents=True, exist_ok=True)
        write_exclusive(home, path.name, token_urlsafe(TOKEN_BYTES), mode=OWNER_ONLY)
        return _read(path)
    except OSError as error:
        raise TokenFileError(f"cannot use the token file '{path}': {error.strerror}") from error


def _read(path: Path) -> str:
    # O_NOFOLLOW: the checks of the owner and the mode must concern this file
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)) as file:
        found = os.fstat(file.fileno())
        remedy = f"remove '{path}', and the next start makes a new token"
        if found.st_uid != os.geteuid():
            raise TokenFileError(f"the token file belongs to another user: {remedy}, or start the service as that user")
        if stat.S_IMODE(found.st_mode) & ~OWNER_ONLY:
            raise TokenFileError(f"other users may have read the token file, because its mode is not 0600: {remedy}")
        token = file.read().strip()
    if len(token) < MIN_TOKEN_LENGTH:
        raise TokenFileError(f"the token has fewer than {MIN_TOKEN_LENGTH} characters: {remedy}")
    return token
