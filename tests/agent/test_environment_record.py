"""The record of an attempt's environment: what it has, what it leaves out, and how the service reads it."""

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent import environment_record
from agent.environment_record import interpreter_of, record, variables_without_secrets
from contract.folder.environment_record import read_environment
from contract.folder.run_folder import RunFolder
from tests.testing.programs import program_folder, run_agent


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return program_folder(tmp_path, [sys.executable, "train.py"])


def test_the_record_has_interpreter_packages_host_and_modules(folder: RunFolder) -> None:
    environment = {"PATH": os.environ["PATH"], "LOADEDMODULES": "gcc/13:cuda/12.4", "OMP_NUM_THREADS": "4"}
    record(folder.path, 1, environment)
    found = read_environment(folder.path, 1)
    assert found is not None
    assert found.interpreter is not None
    assert found.interpreter.executable == sys.executable
    assert found.interpreter.version == ".".join(map(str, sys.version_info[:3]))
    assert found.packages["pydantic"].count(".") == 2
    assert found.packages["typing-extensions"]  # the folder's name has an underscore
    assert found.modules == ["gcc/13", "cuda/12.4"]
    assert (found.attempt, found.system, found.kernel) == (1, os.uname().sysname, os.uname().release)
    assert found.variables["OMP_NUM_THREADS"] == "4"
    assert read_environment(folder.path, 2) is None


@pytest.mark.parametrize(
    "name",
    [
        *("BIGBATCH_TOKEN", "BIGBATCH_DATABASE", "BIGBATCH_BROKER", "SLURM_JWT", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"),
        *("WANDB_API_KEY", "PGPASSWORD", "MYSQL_PWD_PASSWORD", "db_password", "SSH_AUTH_SOCK", "SENTRY_DSN"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "SLACK_WEBHOOK", "MY_JWT", "GPG_PASSPHRASE", "SESSION_COOKIE"),
    ],
)
def test_a_name_that_looks_like_a_secret_is_left_out(name: str) -> None:
    assert variables_without_secrets({name: "x", "PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "value",
    [
        *("ghp_0123456789abcdef", "x hf_0123456789abcdef", "sk-0123456789abcdef", "AKIA0123456789ABCDEF"),
        *("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_a_value_that_looks_like_a_secret_is_left_out(value: str) -> None:
    assert variables_without_secrets({"HARMLESS": value}) == {}


def test_a_password_in_an_address_is_replaced() -> None:
    found = variables_without_secrets({"http_proxy": "http://ann:pw@proxy:3128", "URL": "https://host/a:b@c"})
    assert found == {"http_proxy": "http://***@proxy:3128", "URL": "https://host/a:b@c"}


def test_the_record_is_bounded(folder: RunFolder) -> None:
    environment = {"PATH": os.environ["PATH"], **{f"V{number}": "x" * 10_000 for number in range(3_000)}}
    environment["LOADEDMODULES"] = ":".join(f"m{number}" for number in range(1_000))
    record(folder.path, 1, environment)
    found = read_environment(folder.path, 1)
    assert found is not None
    assert len(found.variables) == 500
    assert max(map(len, found.variables.values())) == 2_000
    assert len(found.modules) == 200
    assert (folder.path / "attempts" / "1.environment.json").stat().st_size < 2 << 20


def test_the_interpreter_is_the_one_that_the_command_names(tmp_path: Path) -> None:
    for name in ("python3", "python3.9"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": str(tmp_path)}
    assert interpreter_of({"command": "A=1 python3.9 -u train.py"}, environment) == str(tmp_path / "python3.9")
    assert interpreter_of({"command": ["./a.out"]}, environment) == str(tmp_path / "python3")
    assert interpreter_of({"command": "unbalanced '"}, environment) == str(tmp_path / "python3")
    assert interpreter_of({"command": ["./a.out"]}, {"PATH": "/nowhere"}) is None


def test_an_interpreter_that_hangs_or_fails_costs_its_packages_alone(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault: the program's Python cannot start, or waits for a file system."""
    monkeypatch.setattr(environment_record, "PROBE_S", 0.2)
    for number, text in enumerate(["exit 1", "exec sleep 600", "echo no JSON"], start=1):
        (tmp_path / "python3").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "python3").chmod(0o755)
        (folder.path / "spec.json").write_text(json.dumps({"command": "python3 train.py"}))
        record(folder.path, number, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
        found = read_environment(folder.path, number)
        assert found is not None
        assert (found.interpreter, found.packages) == (None, {})


def test_a_container_is_recorded_with_its_digest_or_the_id_of_its_file(folder: RunFolder, tmp_path: Path) -> None:
    image = tmp_path / "torch.sif"
    image.write_bytes(
        b"#!/usr/bin/env run-singularity\n\0" + b"SIF_MAGIC\0" + b"01\0" + b"02\0" + bytes(range(16)) + b"x" * 99
    )
    digest = "sha256:" + "ab" * 32
    wanted = {str(image): f"sif:{bytes(range(16)).hex()}", f"docker://torch@{digest}": digest, "docker://torch:2": None}
    for number, (name, its_digest) in enumerate(wanted.items(), start=1):
        container = {"kind": "apptainer", "image": name}
        (folder.path / "spec.json").write_text(json.dumps({"environment": {"container": container}}))
        record(folder.path, number, {"PATH": "/usr/bin:/bin"})
        found = read_environment(folder.path, number)
        assert found is not None
        assert found.container is not None
        assert (found.container.image, found.container.digest) == (name, its_digest)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    record(tmp_path / "absent", 1, {"PATH": "/bin"})


def test_the_file_runs_by_itself_without_any_package(folder: RunFolder) -> None:
    file = Path(environment_record.__file__)
    words = [sys.executable, "-I", "-S", str(file), str(folder.path), "3"]
    subprocess.run(words, check=True, env={"PATH": os.environ["PATH"]})
    assert read_environment(folder.path, 3) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"attempt": 1}',
        '{"attempt": -1, "at": 0, "host": "n1"}',
        '{"attempt": 1, "at": 0, "host": "; rm"}',
    ],
)
def test_a_damaged_record_is_no_record(folder: RunFolder, text: str) -> None:
    (folder.path / "attempts" / "1.environment.json").write_text(text)
    assert read_environment(folder.path, 1) is None


def test_a_record_that_is_a_link_is_not_followed(folder: RunFolder, tmp_path: Path) -> None:
    record(folder.path, 1, {"PATH": "/usr/bin:/bin"})
    path = folder.path / "attempts" / "1.environment.json"
    other = path.rename(tmp_path / "other.json")
    path.symlink_to(other)
    assert stat.S_ISLNK(path.lstat().st_mode)
    assert read_environment(folder.path, 1) is None


def test_an_attempt_records_the_environment_of_rank_0_after_its_setup(tmp_path: Path) -> None:
    environment = {
        "setup": ["export FROM_SETUP=1", "export LOADEDMODULES=gcc/13"],
        "variables": {"OMP_NUM_THREADS": "3"},
    }
    resources = {"kind": "local", "ranks_per_node": 2}
    folder = program_folder(tmp_path, ["python3", "-c", "pass"], environment=environment, resources=resources)
    assert run_agent(folder) == 0
    found = read_environment(folder.path, 1)
    assert found is not None
    assert (found.variables["FROM_SETUP"], found.variables["OMP_NUM_THREADS"], found.variables["RANK"]) == (
        "1",
        "3",
        "0",
    )
    assert found.modules == ["gcc/13"]
    assert found.interpreter is not None


@pytest.mark.ring("all")
def test_a_recorder_that_hangs_does_not_hold_the_attempt(tmp_path: Path) -> None:
    """The fault: the program's Python waits for a file system that does not answer."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "bin" / "python3").chmod(0o755)
    environment = {"setup": [f"export PATH={tmp_path}/bin:$PATH"]}
    folder = program_folder(tmp_path, ["true"], environment=environment)
    began = time.monotonic()
    assert run_agent(folder) == 0
    assert time.monotonic() - began < 100
    assert read_environment(folder.path, 1) is None


def test_a_container_runs_the_recorder_with_its_own_python(tmp_path: Path) -> None:
    """A stand-in for Apptainer shows its words, and runs them outside of any container."""
    (tmp_path / "bin").mkdir()
    line = 'echo "$@" >> words\nwhile [ "$1" != IMAGE ]; do shift; done\nshift\nexec "$@"\n'
    (tmp_path / "bin" / "apptainer").write_text(f"#!/bin/sh\n{line}")
    (tmp_path / "bin" / "apptainer").chmod(0o755)
    environment = {"setup": [f"export PATH={tmp_path}/bin:$PATH"], "container": {"image": "IMAGE"}}
    folder = program_folder(tmp_path, ["true"], environment=environment)
    assert run_agent(folder) == 0
    words = (folder.path / "words").read_text().splitlines()
    assert any("IMAGE true" in line for line in words)
    assert any("IMAGE python3 -I -S" in line for line in words)
    found = read_environment(folder.path, 1)
    assert found is not None
    assert found.container is not None
    assert found.container.image == "IMAGE"


def test_two_runs_do_not_differ_by_what_leads_into_their_own_folders(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        folder = program_folder(tmp_path / name, ["true"])
        own = {"PATH": f"{folder.path}/attempts/bin:/usr/bin", "TRACKIO_DIR": f"{folder.path}/trackio"}
        record(folder.path, 1, own)
        found.append(read_environment(folder.path, 1))
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].variables == found[1].variables == {"PATH": "/usr/bin"}
    record(tmp_path / "two" / "000001-cafe", 2, {"TRACKIO_DIR": "/home/ann/trackio"})
    kept = read_environment(tmp_path / "two" / "000001-cafe", 2)
    assert kept is not None
    assert kept.variables["TRACKIO_DIR"] == "/home/ann/trackio"
