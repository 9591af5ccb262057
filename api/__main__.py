"""`python -m api [--host H] [--port P]`: serve; beyond loopback only with a token. `--openapi`: print the document."""

import argparse
import gc
import json
import os
import sys
from contextlib import nullcontext, suppress
from secrets import token_hex
from types import FrameType

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from api.app import create_app
from api.http.connections import BACKLOG, limited_protocol, raise_open_files
from api.live.hub import Hub
from contract.access.owners import UnsafeFolderError
from contract.access.service_address import recorded_address
from contract.access.service_folders import prepare_home
from contract.access.service_record import LOOPBACK, recorded_service
from contract.access.token_file import TokenFileError, read_or_create_token
from contract.process_memory import share_memory_between_threads
from contract.process_settings import read_process_settings
from contract.refusal import refuse
from contract.service_log import configure_log
from contract.settings import Settings
from store.database_state import unknown_version, unread_version

STARTUP_FAILED = 3  # uvicorn's own exit code


def main() -> None:
    """Serve until a signal, or print the OpenAPI document."""
    parser = argparse.ArgumentParser(prog="python -m api", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--openapi", action="store_true", help="print the OpenAPI document and leave")
    wish = parser.parse_args()
    settings = read_process_settings()
    if wish.openapi:
        app = create_app(settings.model_copy(update={"token": token_hex()}))
        print(json.dumps(app.openapi(), indent=1, sort_keys=True))
    elif wish.host not in LOOPBACK and not settings.token:
        refuse(f"{wish.host} is not loopback, so others could run jobs as you: set BIGBATCH_TOKEN first")
    else:
        _serve(settings, wish.host, wish.port)


def _serve(settings: Settings, host: str, port: int) -> None:
    try:
        prepare_home(settings)
        token = settings.token or read_or_create_token(settings.home_folder())
    except (TokenFileError, UnsafeFolderError) as error:
        refuse(str(error))
    # A token of BIGBATCH_TOKEN is for the clients that have this variable as well.
    record = nullcontext() if settings.token else recorded_service(host, port, token)
    configure_log()
    with record, recorded_address(settings.home_folder(), host, port):
        app = create_app(settings.model_copy(update={"token": token}))
        app.state.is_database_checked = _is_of_this_version(settings.database_url())
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            http=limited_protocol(raise_open_files()),
            backlog=BACKLOG,
            # uvicorn would trust every process of this machine, whose clients could then choose their address
            proxy_headers=bool(os.environ.get("FORWARDED_ALLOW_IPS")),
            log_config=None,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=3,  # an open page must not keep the service from ending
        )
        share_memory_between_threads()
        server = _Server(config, app.state.live)
        freeze_objects()
        with suppress(KeyboardInterrupt):
            server.run()
        if not server.started:
            sys.exit(STARTUP_FAILED)


def _is_of_this_version(url: str) -> bool:
    """Return False for a database whose version cannot be read yet: its first connection is checked then.

    End this process if the database is of a version that this one does not know.
    """
    try:
        unknown = unknown_version(url)
    except SQLAlchemyError as error:
        print(unread_version(url, error), file=sys.stderr, flush=True)
        return False
    if unknown:
        refuse(unknown)
    return True


def freeze_objects() -> None:
    """Make the garbage collector ignore all present objects.

    They stay until the process ends. A full collection looked at all 280,000 of them: a third of the time of a request
    that makes many objects.
    """
    gc.collect()
    gc.freeze()


class _Server(uvicorn.Server):
    """A server that ends the streams of open pages at a signal: it would wait for them."""

    def __init__(self, config: uvicorn.Config, live: Hub) -> None:
        super().__init__(config)
        self._live = live

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the streams, and the server after them."""
        self._live.end()
        super().handle_exit(sig, frame)


if __name__ == "__main__":
    main()
