"""`python -m tests.stale`: fail when the dashboard's generated types differ from the API's own description."""

import subprocess
import sys
import tempfile
from pathlib import Path

WEB = Path(__file__).parents[1] / "web"
SCHEMA = WEB / "src" / "api" / "schema.d.ts"


def main() -> int:
    """Generate the types anew beside the committed ones and compare."""
    with tempfile.TemporaryDirectory() as folder:
        document, fresh = Path(folder) / "openapi.json", Path(folder) / "schema.d.ts"
        command = [sys.executable, "-m", "api", "--openapi"]
        document.write_bytes(subprocess.run(command, cwd=WEB.parent, capture_output=True, check=True).stdout)
        generate = ["npx", "--no-install", "openapi-typescript", str(document), "-o", str(fresh)]
        subprocess.run(generate, cwd=WEB, check=True, capture_output=True)
        if fresh.read_text() == SCHEMA.read_text():
            return 0
    print("web/src/api/schema.d.ts is stale: run `make client`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
