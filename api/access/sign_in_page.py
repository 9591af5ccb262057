"""The sign-in page: a form for the token, and a script that sends the one-time code of a sign-in link.

The code is in the link's fragment, which a browser does not send: no log of a server or a proxy contains the code.
A token in an address, where it does not belong, leaves the address at once and is tried; a wrong one is called wrong.
The page stores the user's name in the browser, where the dashboard finds it (web/src/shared/api/client.ts).
The page loads no file, because the dashboard's files need a session; its colors are those of web/src/shared/theme.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape

from starlette.responses import HTMLResponse

DARK = """color-scheme:dark;--paper:#121310;--surface:#191a17;--ink:#e8e8e1;--muted:#a4a79b;--hairline:#2a2c26;
--rule:#3d4038;--accent:#9dabff;--on-accent:#12142a;--failed:#ff8b68;--failed-wash:#3a1d14"""
STYLE = f"""
:root{{color-scheme:light;--paper:#f5f5f1;--surface:#fdfdfb;--ink:#1b1c19;--muted:#5b5e55;--hairline:#dfdfd6;
--rule:#c9c9bf;--accent:#2b45c4;--on-accent:#fff;--failed:#b23310;--failed-wash:#fbeae4}}
@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{DARK}}}}}
:root[data-theme=dark]{{{DARK}}}
*{{box-sizing:border-box}}
body{{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1.5rem 1rem 12vh;
background:var(--paper);color:var(--ink);font:14px/1.5 ui-sans-serif,system-ui,sans-serif}}
main{{width:100%;max-width:25rem}}
header{{display:flex;align-items:center;gap:.5rem;margin-bottom:1rem;font-size:1.07rem;font-weight:650}}
svg{{fill:var(--accent)}}
form{{display:grid;gap:.6rem;padding:1.4rem 1.5rem 1.5rem;background:var(--surface);
border:1px solid var(--hairline);border-radius:8px}}
h1,p{{margin:0}}h1{{font-size:1.36rem;font-weight:600;line-height:1.25}}
label{{margin-top:.5rem}}
input,button{{font:inherit;width:100%;padding:.5rem .75rem;border-radius:6px}}
input{{border:1px solid var(--rule);background:var(--paper);color:inherit}}
button{{border:1px solid var(--accent);background:var(--accent);color:var(--on-accent);font-weight:600;cursor:pointer}}
button{{margin-top:.3rem}}button:hover{{opacity:.92}}
:focus-visible{{outline:2px solid var(--accent);outline-offset:2px}}
[role=alert]{{padding:.55rem .75rem;border-radius:6px;background:var(--failed-wash);color:var(--failed)}}
.note{{margin-top:1rem;color:var(--muted);font-size:.93rem}}.note p+p{{margin-top:.5rem}}
code{{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.93em;color:var(--ink)}}
[data-signing-in] form>:not(h1){{display:none}}
[data-signing-in] .note{{visibility:hidden}}
"""
SCRIPT = """
const root = document.documentElement;
const fragment = new URLSearchParams(location.hash.slice(1));
const form = document.forms[0];
const user = form.elements.user;
const theme = localStorage.getItem("theme");
const query = new URLSearchParams(location.search);
const token = query.get("token") ?? fragment.get("token");
user.value = fragment.get("user") || localStorage.getItem("user") || "";
const remember = () => localStorage.setItem("user", user.value.trim());
form.addEventListener("submit", remember);
if (theme) root.dataset.theme = theme;
if ("again" in root.dataset) {
  location.replace(location.pathname + location.search);
} else if (token !== null || fragment.has("code")) {
  query.delete("token");
  history.replaceState(null, "", location.pathname + (query.size ? "?" + query : ""));
  root.dataset.signingIn = "";
  form.querySelector("h1").textContent = "Signing in …";
  if (token !== null) form.elements.token.value = token;
  else form.elements.code.value = fragment.get("code");
  form.elements.next.value = fragment.get("next") ?? form.elements.next.value;
  remember();
  form.submit();
}
"""
PAGE = """<!doctype html><html lang="en"{again}><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">
<title>Sign in · Bigbatch</title><style>{style}</style>
<main><header><svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
<path opacity=".45" d="M2 2h4v4H2zM2 8h4v4H2zM8 2h4v4H8z"/><path d="M2 14h4v4H2zM8 8h4v10H8zM14 2h4v16h-4z"/></svg>
Bigbatch</header>
<form method="post" action="{root}/sign-in"><h1>Sign in</h1>{message}
<label for="token">Enter the token of this Bigbatch service</label>
<input id="token" name="token" type="password" autocomplete="current-password" autofocus required>
<label for="user">Your name, which others see beside your changes (optional)</label>
<input id="user" name="user" maxlength="100" autocomplete="username">
<input name="code" type="hidden"><input name="next" type="hidden" value="{next}">
<button>Sign in</button></form>
<div class="note"><p>Without the token: <code>bigbatch sign-in</code>, on the machine of the service and by the user who
started it, prints a link that signs a browser in.</p>
<p>The token is <code>BIGBATCH_TOKEN</code> of the service, else in the file <code>token</code> of its home folder.</p>
</div></main>
<script>{script}</script>
"""


def sign_in_page(
    next_path: str,
    *,
    root: str,
    status: int,
    message: str = "",
    headers: Mapping[str, str] | None = None,
    is_cross_site: bool = False,
) -> HTMLResponse:
    """Return the page; after the sign-in the browser opens `next_path` below `root`.

    `is_cross_site`: a page of another site has the link, so the browser sent no cookie. The page opens its address
    again, and then the browser sends the cookie if it has one.
    """
    again = " data-again" if is_cross_site else ""
    notice = f'<p role="alert">{escape(message)}</p>' if message else ""
    text = PAGE.format(style=STYLE, script=SCRIPT, message=notice, next=escape(next_path), again=again, root=root)
    policy = (
        f"default-src 'none'; script-src {_source(SCRIPT)}; style-src {_source(STYLE)}; img-src data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    own = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return HTMLResponse(text, status_code=status, headers={**(headers or {}), **own})


def _source(inline: str) -> str:
    """Return the source expression that allows this inline text."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"
