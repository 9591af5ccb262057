"""The sign-in page: a form for the token, and a script that sends the one-time code of a sign-in link.

The code is in the link's fragment, which a browser does not send: no log of a server or a proxy contains the code.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape

from starlette.responses import HTMLResponse

STYLE = """
body{font:16px system-ui;display:grid;place-content:center;height:90vh;margin:1rem;color-scheme:light dark}
form{display:grid;gap:.75rem;max-width:26rem}input,button{font:inherit;padding:.5rem .75rem}
p{margin:0;max-width:26rem}
"""
SCRIPT = """
const fragment = new URLSearchParams(location.hash.slice(1));
const form = document.forms[0];
if (fragment.has("code")) {
  history.replaceState(null, "", location.pathname);
  form.elements.code.value = fragment.get("code");
  form.elements.next.value = fragment.get("next") ?? "/";
  form.submit();
}
"""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<title>Bigbatch</title><style>{style}</style>
<form method="post" action="/sign-in">{message}
<label for="token">Enter the token of this Bigbatch service</label>
<input id="token" name="token" type="password" autocomplete="current-password" autofocus required>
<input name="code" type="hidden"><input name="next" type="hidden" value="{next}">
<button>Sign in</button><p>The command <code>bigbatch sign-in</code> prints a link that signs in.</p></form>
<script>{script}</script>
"""


def sign_in_page(
    next_path: str, *, status: int, message: str = "", headers: Mapping[str, str] | None = None
) -> HTMLResponse:
    """Return the page; after the sign-in the browser opens `next_path`."""
    notice = f'<p role="alert">{escape(message)}</p>' if message else ""
    text = PAGE.format(style=STYLE, script=SCRIPT, message=notice, next=escape(next_path))
    policy = (
        f"default-src 'none'; script-src {_source(SCRIPT)}; style-src {_source(STYLE)}; img-src data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    own = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return HTMLResponse(text, status_code=status, headers={**(headers or {}), **own})


def _source(inline: str) -> str:
    """Return the source expression that allows this inline text."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"
