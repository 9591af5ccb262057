"""`python -m api [--host H] [--port P]`: serve; beyond loopback only with a token. `--openapi`: print the document."""

import argparse
import json
import os
import sys
from contextlib import nullcontext
from secrets import token_hex

import uvicorn
from pydantic import ValidationError

from api.app import create_app
from api.http.connections import BACKLOG, limited_protocol, raise_open_files
from contract.access.service_record import LOOPBACK, recorded_service
from contract.access.token_file import TokenFileError, read_or_create_token
from contract.process_settings import read_process_settings
from contract.settings import Settings, setting_errors


def main() -> None:
    """Serve until a signal, or print the OpenAPI document."""
    parser = argparse.ArgumentParser(prog="python -m api", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--openapi", action="store_true", help="print the OpenAPI document and leave")
    wish = parser.parse_args()
    try:
        settings = read_process_settings()
    except ValidationError as error:
        sys.exit(setting_errors(error))
    if wish.openapi:
        app = create_app(settings.model_copy(update={"token": token_hex()}))
        print(json.dumps(app.openapi(), indent=1, sort_keys=True))
    elif wish.host not in LOOPBACK and not settings.token:
        sys.exit(f"{wish.host} is not loopback, so others could run jobs as you: set BIGBATCH_TOKEN first")
    else:
        _serve(settings, wish.host, wish.port)


def _serve(settings: Settings, host: str, port: int) -> None:
    try:
        token = settings.token or read_or_create_token(settings.home_folder())
    except TokenFileError as error:
        sys.exit(str(error))
    # A token of BIGBATCH_TOKEN is for the clients that have this variable as well.
    record = nullcontext() if settings.token else recorded_service(host, port, token)
    with record:
        uvicorn.run(
            create_app(settings.model_copy(update={"token": token})),
            host=host,
            port=port,
            http=limited_protocol(raise_open_files()),
            backlog=BACKLOG,
            # uvicorn would trust every process of this machine, whose clients could then choose their address
            proxy_headers=bool(os.environ.get("FORWARDED_ALLOW_IPS")),
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=3,  # an open page must not keep the service from ending
        )


if __name__ == "__main__":
    main()
