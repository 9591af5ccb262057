"""Move `main` to the commit at hand, after `.ci/run` has passed on a clean clone of it: `make land`."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.gate import unstable

ROOT = Path(__file__).parents[2]
LANDED = Path(".make") / "landed"
# what the clone needs of the environment: no settings of this checkout, of pytest or of git
PLACES = ("HOME", "LANG", "LC_", "LOGNAME", "SHELL", "TERM", "TMPDIR", "USER")
NETWORK = ("PIP_", "REQUESTS_", "SSL_", "NODE_EXTRA_CA_CERTS", "GIT_SSL_", "npm_config_registry", "http_proxy")
INHERITED = (*PLACES, *NETWORK, "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


class LandError(Exception):
    """The commit does not become main; the text says why."""


def main() -> int:
    """Return 0 where main is at the commit, else 1."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print(land(ROOT), flush=True)
    except (LandError, subprocess.CalledProcessError) as error:
        print(f"not landed: {error}", file=sys.stderr)
        return 1
    return 0


def land(root: Path) -> str:
    """Run the gate on a clone and move main; return what was done. Raise LandError where main stays as it is."""
    commit, main = _git(root, "rev-parse", "HEAD"), _git(root, "rev-parse", "refs/heads/main")
    if _git(root, "rev-list", f"{commit}..{main}"):
        raise LandError(f"main ({main[:12]}) has commits that {commit[:12]} lacks; rebase on main first")
    if changed := _git(root, "status", "--porcelain"):
        print(f"These changes are not part of {commit[:12]} and do not land:\n{changed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="bigbatch-land-", ignore_cleanup_errors=True) as folder:
        clone = Path(folder) / "clone"
        passed = _passes(root, commit, clone)
        if (clone / unstable.LIST).exists():
            _copy_new_entries(root, clone)
    if not passed:
        raise LandError(f"the gate failed on {commit[:12]}")
    if commit != main:
        # refuses where main moved meanwhile, and where another working copy has checked main out
        _git(root, "fetch", "--quiet", ".", f"{commit}:refs/heads/main")
    (root / LANDED).parent.mkdir(exist_ok=True)
    (root / LANDED).write_text(f"{commit}\n")
    return f"main is at {commit[:12]}"


def _passes(root: Path, commit: str, clone: Path) -> bool:
    _git(root, "clone", "--quiet", "--no-checkout", str(root), str(clone))
    _git(clone, "checkout", "--quiet", "--detach", commit)
    # CI: a missing server fails its tests in place of skipping them
    environment = {**_environment(root), "CI": "true"}
    run = subprocess.Popen(["bash", ".ci/run"], cwd=clone, env=environment, stdin=subprocess.DEVNULL)
    try:
        return run.wait() == 0
    except KeyboardInterrupt:
        run.terminate()
        run.wait()  # the clone goes with this process
        raise


def _environment(root: Path) -> dict[str, str]:
    """Return the environment for the clone; PATH has no folder of this checkout."""
    found = {
        name: value for name, value in os.environ.items() if name.startswith(INHERITED) or name == "GIT_SSL_CAINFO"
    }
    path = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if not Path(folder).is_relative_to(root)]
    return {**found, "PATH": os.pathsep.join(path)}


def _copy_new_entries(root: Path, clone: Path) -> None:
    """Bring the unstable tests of this run into the working copy, to be committed with the next change."""
    committed = subprocess.run(
        ["git", "show", f"HEAD:{unstable.LIST}"], cwd=clone, capture_output=True, text=True
    ).stdout
    if added := (clone / unstable.LIST).read_text().removeprefix(committed or unstable.HEAD):
        own = root / unstable.LIST
        own.write_text((own.read_text() if own.exists() else unstable.HEAD) + added)
        print(f"{unstable.LIST} has new entries: mend, move or delete these tests", flush=True)


def _git(folder: Path, *words: str) -> str:
    """Return what git prints; a hook that calls this has variables of another repository, which git must not see."""
    command = ["git", *words]
    done = subprocess.run(command, cwd=folder, env=_environment(folder), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.rstrip()


if __name__ == "__main__":
    sys.exit(main())
