"""The pinned packages: every one has hashes, except torch, and make refuses a file with another hash."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.ring("quick")

HOUSE = Path(__file__).parents[1]
LISTS = HOUSE / "requirements"
WITHOUT_HASHES = {"torch"}
ACCELERATOR = re.compile(r"nvidia-|cuda-|triton")
# a platform on which nobody develops Bigbatch, but whose packages the lists name
OTHER_PLATFORM = re.compile("== .(win32|emscripten)")


def pins(path: Path) -> dict[str, Requirement]:
    """The requirements of a list without their hashes, by name."""
    lines = [re.split(r" --hash| \\", line)[0] for line in path.read_text().splitlines() if line[:1].isalnum()]
    return {canonicalize_name(found.name): found for found in map(Requirement, lines)}


def versions(found: dict[str, Requirement]) -> set[tuple[str, str]]:
    return {(name, str(one.specifier)) for name, one in found.items() if not OTHER_PLATFORM.search(str(one.marker))}


def needed(*extras: str) -> set[str]:
    """The names of all packages that the project and its extras need here, from what is installed."""
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]
    own = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    found: dict[str, set[str]] = {}
    rest = [(Requirement(text), "") for text in own]
    while rest:
        requirement, extra = rest.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in {"", *requirement.extras} - found.setdefault(name, set()):
            found[name].add(wanted)
            rest += [(Requirement(text), wanted) for text in _requires(name)]
    return {name for name in found if not ACCELERATOR.match(name)}


def _requires(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


@pytest.mark.parametrize("path", sorted(LISTS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_package_has_a_version_and_hashes_and_no_host(path: Path) -> None:
    text = path.read_text()
    assert "://" not in text
    entries = re.split(r"\n(?=\w)", text)[1:]
    assert len(entries) == len(pins(path))
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+ ", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry


def test_the_versions_are_those_of_the_constraints() -> None:
    constraints = versions(pins(HOUSE / "constraints.txt"))
    developers, services = versions(pins(LISTS / "dev.txt")), versions(pins(LISTS / "service.txt"))
    assert {name for name, _ in constraints - developers} == WITHOUT_HASHES
    assert developers <= constraints
    assert services <= developers


@pytest.mark.parametrize(
    ("name", "extras"), [("service", ("service", "trainer")), ("dev", ("service", "trainer", "dev"))]
)
def test_a_list_has_all_packages_that_the_project_needs(name: str, extras: tuple[str, ...]) -> None:
    assert needed(*extras) - pins(LISTS / f"{name}.txt").keys() == WITHOUT_HASHES


def test_the_builder_of_the_project_has_hashes_too() -> None:
    (builder,) = tomllib.loads((HOUSE / "pyproject.toml").read_text())["build-system"]["requires"]
    assert canonicalize_name(Requirement(builder).name) in pins(LISTS / "service.txt")


def test_the_image_is_built_from_the_same_list() -> None:
    text = (HOUSE / "Dockerfile").read_text()
    installs = re.findall(r"pip install (.*?) *\\?$", text, re.MULTILINE)
    assert [words for words in installs if not re.search(r"--require-hashes --no-deps|--no-deps .*/source", words)] == [
        "--find-links /wheels -c constraints.txt torch"
    ]


def write_wheel(folder: Path) -> str:
    """Write the wheel of a package `tiny`; return its hash."""
    path = folder / "tiny-1-py3-none-any.whl"
    files = {
        "tiny.py": "",
        "tiny-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n",
        "tiny-1.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()) for name, text in files.items()}
    record = [f"{name},sha256={digest.decode().rstrip('=')},{len(files[name])}" for name, digest in digests.items()]
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {
            **files,
            "tiny-1.dist-info/RECORD": "\n".join([*record, "tiny-1.dist-info/RECORD,,"]),
        }.items():
            wheel.writestr(name, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.ring("all")
def test_make_refuses_a_package_whose_file_has_another_hash(tmp_path: Path) -> None:
    """Forces the fault: the file of a package in the index is not the file of which the list has the hash."""
    right = write_wheel(tmp_path)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(HOUSE / name, tmp_path)
    (tmp_path / "constraints.txt").write_text("tiny==1\n")
    (tmp_path / "requirements").mkdir()
    options = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    refused, refused_too, accepted = [
        make(tmp_path, target, digest, options)
        for target, digest in (("service", "0" * 64), ("dev", "0" * 64), ("dev", right))
    ]
    for output in (refused, refused_too):
        assert "THESE PACKAGES DO NOT MATCH THE HASHES" in output
        assert "torch" not in output
    assert "No matching distribution found for torch" in accepted, "the index of this test has no other package"
    assert not (tmp_path / ".make").exists()


def make(folder: Path, target: str, digest: str, options: dict[str, str]) -> str:
    """Run make for the target, with a list of one package; return what it printed when it failed."""
    (folder / "requirements" / f"{target}.txt").write_text(f"tiny==1 --hash=sha256:{digest}\n")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE"))}
    command = ["make", f".make/{target}", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=folder, env=inherited | options, capture_output=True, text=True, timeout=600)
    assert done.returncode != 0
    return done.stdout + done.stderr
