"""A real nginx with TLS in front of a service, as docs/proxy.md configures it, and its certificate."""

import os
import re
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.testing.needs import program
from tests.testing.servers import free_port, wait_for

PAGE = Path(__file__).parents[2] / "docs" / "proxy.md"
ROOT = "/bigbatch"
KEPT, STRIPPED = "kept", "stripped"
STATE = """
daemon off; master_process on; pid {folder}/nginx.pid; error_log {folder}/error.log; {user}
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {server}
}}
"""


@dataclass(frozen=True)
class Proxy:
    """The address of the dashboard behind the proxy, and the file of its certificate."""

    url: str
    certificate: Path


@contextmanager
def nginx(folder: Path, service_port: int, way: str, *, port: int | None = None) -> Iterator[Proxy]:
    """Run nginx below ROOT as the documentation says; yield where the service is then."""
    folder.mkdir(exist_ok=True)
    certificate, key = self_signed(folder)
    port = port or free_port()
    server = documented_server()
    for old, new in {
        "listen 443 ssl": f"listen {port} ssl",
        "/etc/ssl/certs/lab.example.org.pem": str(certificate),
        "/etc/ssl/private/lab.example.org.key": str(key),
        "http://127.0.0.1:8000": f"http://127.0.0.1:{service_port}{'/' if way == STRIPPED else ''}",
        "server_name lab.example.org": "server_name localhost",
    }.items():
        assert server.count(old) == 1, (old, server)
        server = server.replace(old, new)
    # as root it gives its work to another account, which cannot enter pytest's folders
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(STATE.format(folder=folder, server=server, user=user))
    command = [
        str(program("nginx")),
        "-p",
        str(folder),
        "-e",
        str(folder / "error.log"),
        "-c",
        str(folder / "nginx.conf"),
    ]
    process = subprocess.Popen(command)
    url = f"https://localhost:{port}{ROOT}"
    try:
        wait_for("nginx", lambda: _answers(url, certificate))
        yield Proxy(url, certificate)
    finally:
        process.terminate()
        process.wait(60)


def documented_server() -> str:
    """Return the block of nginx's configuration in the documentation."""
    [block] = re.findall(r"^    server \{\n.*?^    \}\n", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return str(block)


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for localhost; return its file and its key's."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = [str(program("openssl")), "req", "-x509", *kind, *names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def _answers(url: str, certificate: Path) -> bool:
    try:
        urlopen(f"{url}/api/v1/health", context=ssl.create_default_context(cafile=certificate), timeout=5).close()
    except HTTPError:
        return True
    except OSError:
        return False
    return True
