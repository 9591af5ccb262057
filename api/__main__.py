"""`python -m api [--host H] [--port P]`: serve; beyond loopback only with a token. `--openapi`: print the document."""

import argparse
import json
import sys

import uvicorn

from api.app import create_app
from api.guard import LOOPBACK
from contract.process_settings import read_process_settings


def main() -> None:
    """Serve until a signal, or print the OpenAPI document."""
    parser = argparse.ArgumentParser(prog="python -m api", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--openapi", action="store_true", help="print the OpenAPI document and leave")
    wish = parser.parse_args()
    settings = read_process_settings()
    if wish.openapi:
        print(json.dumps(create_app(settings).openapi(), indent=1, sort_keys=True))
        return
    if wish.host not in LOOPBACK and not settings.token:
        sys.exit(f"{wish.host} is not loopback, so others could run jobs as you: set BIGBATCH_TOKEN first")
    uvicorn.run(
        create_app(settings),
        host=wish.host,
        port=wish.port,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=3,  # an open page must not keep the service from ending
    )


if __name__ == "__main__":
    main()
