"""A rank of a run searches as the run's spec asks, and its progress and figures are points of the run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import bigbatch
from contract.folder.run_folder import RunFolder
from contract.spec.dedup.dedup import Dedup
from contract.spec.dedup.options import DEFAULT_BITS, DEFAULT_HASH, DEFAULT_STAY, DEFAULT_THRESHOLD
from contract.spec.program.run import ProgramSpec
from contract.spec.program.section import DEDUP_OUTPUTS
from tests.testing.trainers.jobs import HOUSE
from tests.testing.trainers.pictures import pictures
from trainers.data.dedup.__main__ import main
from trainers.data.dedup.altered_copies import alter
from trainers.data.dedup.duplicates import HashSettings
from trainers.data.dedup.rank import PERIOD_S, RankLog, read_dedup
from trainers.data.images.image_list import read_image_list

NAMES = {f"{number}.png" for number in range(6)}


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Six different pictures, an altered copy of the first, twice, and a file that is no image."""
    folder = tmp_path / "images"
    folder.mkdir()
    different = pictures(6, 96, 0)
    for number, x_HWC in enumerate(different):
        Image.fromarray(x_HWC).save(folder / f"{number}.png")
    copy = Image.fromarray(alter(different[0], np.random.default_rng(0)))
    for name in ("copy.png", "same.png"):
        copy.save(folder / name)
    (folder / "torn.jpg").write_bytes(b"\xff\xd8\xff no image")
    return folder


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "run"
    monkeypatch.setattr(bigbatch, "log", lambda *_, **__: True)  # it logs to the first run of a process alone
    monkeypatch.setenv("BIGBATCH_RUN_FOLDER", str(folder))
    return folder


def prepare(folder: Path, **fields: Any) -> None:
    """Write the folder of a run with these fields."""
    RunFolder(folder).prepare(ProgramSpec.model_validate({"kind": "program", **fields}))


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["dedup", *words])
    main()


@pytest.mark.ring("all")
def test_a_rank_takes_images_and_options_from_the_spec_and_logs_steps_and_figures(
    images: Path, run_folder: Path
) -> None:
    options = {"hash": "difference", "bits": 64, "threshold": 9, "keep": "largest", "exact": True}
    prepare(run_folder, dedup={"images": str(images), **options})
    words = [sys.executable, "-m", "trainers.data.dedup"]
    done = subprocess.run(words, cwd=HOUSE, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(run_folder / "dedup" / "images.txt")
    assert "6 stay, 2 are left out, 1 are unreadable" in done.stderr
    report = json.loads((run_folder / "dedup" / "report.json").read_text())
    assert {name: report[name] for name in ("folder", "hash", "bits", "threshold", "keep")} == {
        "folder": str(images),
        **{name: value for name, value in options.items() if name != "exact"},
    }
    assert all((run_folder / path).is_file() for path in DEDUP_OUTPUTS.values())
    points = [json.loads(line) for line in (run_folder / "events.jsonl").read_text().splitlines()]
    assert [(point["step"], point["values"]) for point in points] == [
        (9, {"hashed_share": 1.0}),
        (9, {"images": 9, "kept": 6, "left_out": 2, "unreadable": 1, "groups": 1}),
    ]


def test_the_defaults_of_the_section_find_the_copies(
    images: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(run_folder, dedup={"images": str(images)})
    command(monkeypatch)
    listed = read_image_list(run_folder / "dedup" / "images.txt")
    assert len(listed) == 6
    assert {"1.png", "2.png", "3.png", "4.png", "5.png"} < listed
    assert (run_folder / "dedup" / "kept.txt").read_text() == "6\n"


def test_the_command_and_the_section_have_the_same_options_and_defaults(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert HashSettings() == HashSettings(DEFAULT_HASH, DEFAULT_BITS, DEFAULT_THRESHOLD, DEFAULT_STAY, exact=False)
    with pytest.raises(SystemExit, match="0"):
        command(monkeypatch, "--help")
    usage = capsys.readouterr().out
    names = [name for name in Dedup.model_fields if name != "images"]
    assert [name for name in names if f"--{name.replace('_', '-')}" not in usage] == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"command": "python train.py"}, "has no `dedup`"),
        ({"dedup": {"images": "/absent/images"}}, "there is no folder /absent/images"),
    ],
)
def test_a_run_whose_search_cannot_begin_ends_with_the_reason(
    fields: dict[str, Any],
    words: str,
    run_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prepare(run_folder, **fields)
    with pytest.raises(SystemExit, match="2"):
        command(monkeypatch)
    assert words in capsys.readouterr().err


def test_a_folder_without_a_run_is_no_run(run_folder: Path) -> None:
    with pytest.raises(ValueError, match="is no folder of a run of a program"):
        read_dedup(run_folder)


def test_outside_a_run_a_folder_is_needed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("BIGBATCH_RUN_FOLDER", raising=False)
    with pytest.raises(SystemExit, match="2"):
        command(monkeypatch)
    assert "name a folder with images" in capsys.readouterr().err


def test_options_beside_those_of_the_spec_are_refused(
    images: Path, run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(run_folder, dedup={"images": str(images)})
    with pytest.raises(SystemExit, match="2"):
        command(monkeypatch, "--threshold", "3")
    assert "takes --threads alone" in capsys.readouterr().err
    command(monkeypatch, "--threads", "1")
    assert (run_folder / "dedup" / "kept.txt").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--bits", "64", "--threshold", "64"), "0 to 31 of the 64 bits"), (("--hold-out", "0"), "0 is less than 1")],
)
def test_the_command_has_the_limits_of_the_section(
    words: tuple[str, ...],
    message: str,
    images: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command(monkeypatch, str(images), *words)
    assert message in capsys.readouterr().err


def test_progress_is_logged_once_a_second_and_at_the_last_image(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[int, float]] = []
    monkeypatch.setattr(bigbatch, "log", lambda *, step, hashed_share: logged.append((step, hashed_share)))
    times = iter([0.0, 0.0, PERIOD_S / 2, PERIOD_S, PERIOD_S, PERIOD_S])
    log = RankLog(clock=lambda: next(times))
    for done in (64, 128, 192, 256):
        log.note(done, 256)
    assert logged == [(64, 0.25), (192, 0.75), (256, 1.0)]
