"""System metrics: what /proc and the driver count becomes bounded, whole lines in the run folder."""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.system import recorder as module
from agent.system.gpus import Gpus
from agent.system.proc import Counters, rates, read_counters, used_memory
from agent.system.recorder import Recorder, start_recorder
from tests.testing.servers import wait_for

STAT = "cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 1 1 1\n"
DISKS = "   8 0 sda 10 0 {read} 5 7 0 {written} 3\n   8 1 sda1 10 0 999 5 7 0 999 3\n   7 0 loop0 1 0 99 1 1 0 99 1\n"
NET = "Inter-|\n face |\n    lo: 900 1 0 0 0 0 0 0 900 1\n  eth0: {received} 1 0 0 0 0 0 0 {sent} 1\n"


def write_proc(root: Path, *, busy: int, idle: int, read: int, written: int, received: int, sent: int) -> Counters:
    """Write files as Linux has them; return the counters in them."""
    (root / "proc" / "net").mkdir(parents=True, exist_ok=True)
    (root / "block" / "sda" / "device").mkdir(parents=True, exist_ok=True)
    (root / "block" / "loop0").mkdir(exist_ok=True)
    (root / "proc" / "stat").write_text(STAT.format(busy=busy, idle=idle))
    (root / "proc" / "diskstats").write_text(DISKS.format(read=read, written=written))
    (root / "proc" / "net" / "dev").write_text(NET.format(received=received, sent=sent))
    return read_counters(str(root / "proc"), str(root / "block"))


def test_rates_are_differences_of_whole_disks_and_real_interfaces(tmp_path: Path) -> None:
    before = write_proc(tmp_path, busy=100, idle=100, read=10, written=20, received=5000, sent=100)
    after = write_proc(tmp_path, busy=175, idle=125, read=30, written=24, received=6000, sent=100)
    found = rates(before._replace(at=10.0), after._replace(at=12.0))
    assert found == {
        "cpu": 0.75,
        "disk_read_bytes_per_s": 20 * 512 / 2,
        "disk_written_bytes_per_s": 4 * 512 / 2,
        "net_received_bytes_per_s": 500.0,
        "net_sent_bytes_per_s": 0.0,
    }


def test_a_counter_that_begins_again_gives_no_negative_rate(tmp_path: Path) -> None:
    before = write_proc(tmp_path, busy=100, idle=100, read=10, written=20, received=5000, sent=100)
    after = write_proc(tmp_path, busy=150, idle=150, read=10, written=20, received=10, sent=100)
    assert rates(before._replace(at=1.0), after._replace(at=2.0))["net_received_bytes_per_s"] == 0.0


def test_the_metrics_of_this_machine_are_plausible() -> None:
    before = read_counters()
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        sum(range(1000))
    found = rates(before, read_counters())
    assert 0 < found["cpu"] <= 1
    assert 0 < used_memory()["memory_bytes"] < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def driver() -> Any:
    """Return an NVML with two GPUs, of which the second one has fallen off the bus."""

    def utilization(handle: int) -> Any:
        if handle:
            raise RuntimeError("GPU is lost")
        return SimpleNamespace(gpu=80)

    return SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetUtilizationRates=utilization,
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=5 << 30),
        nvmlDeviceGetPowerUsage=lambda handle: 250_000,
    )


def test_a_lost_gpu_leaves_the_figures_of_the_others() -> None:
    assert Gpus(driver()).read() == {
        "gpu-0/busy": 0.8,
        "gpu-0/memory_bytes": float(5 << 30),
        "gpu-0/watts": 250.0,
    }


def test_without_a_driver_there_are_no_gpus() -> None:
    def fail() -> None:
        raise OSError("no driver")

    assert Gpus(SimpleNamespace(nvmlInit=fail)).read() == {}


def folder_at(tmp_path: Path, age_s: float) -> Path:
    """Return a run folder whose first attempt began so long ago."""
    (tmp_path / "attempts").mkdir()
    claim = tmp_path / "attempts" / "1.json"
    claim.write_text("{}")
    os.utime(claim, (time.time() - age_s,) * 2)
    return tmp_path


def lines_of(folder: Path) -> list[dict[str, Any]]:
    path = folder / "points" / "system-cpu-3.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_lines_have_the_seconds_since_the_first_attempt_as_their_step(tmp_path: Path) -> None:
    folder = folder_at(tmp_path, age_s=1000)
    started = start_recorder(folder, 2, host="cpu-3", node=0, every_s=0.05)
    assert started is not None
    wait_for("two lines", lambda: len(lines_of(folder)) >= 2)
    started.stop()
    first = lines_of(folder)[0]
    assert (first["kind"], first["attempt"]) == ("points", 2)
    assert 1000 <= first["step"] < 1100
    assert {"cpu", "memory_bytes", "net_sent_bytes_per_s"} <= first["values"].keys()


def test_a_full_file_gets_no_more_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_at(tmp_path, age_s=0)
    monkeypatch.setattr(module, "MAX_BYTES", 1)
    recorder = Recorder(folder, 1, "cpu-3", 0.01).start()
    recorder._thread.join(60)
    assert not recorder._thread.is_alive()
    assert len(lines_of(folder)) == 1


@pytest.mark.parametrize(("every_s", "node"), [(0, 0), (15, module.MAX_NODES)])
def test_a_run_without_them_and_a_late_node_record_nothing(tmp_path: Path, every_s: float, node: int) -> None:
    assert start_recorder(tmp_path, 1, host="cpu-3", node=node, every_s=every_s) is None


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    """Fault: a job leaves a link to another file where the metrics go."""
    folder = folder_at(tmp_path, age_s=0)
    (folder / "points").mkdir()
    target = tmp_path / "target"
    target.write_text("")
    (folder / "points" / "system-cpu-3.jsonl").symlink_to(target)
    assert Recorder(folder, 1, "cpu-3", 15)._append(time.time(), {"cpu": 0.5})
    assert target.read_text() == ""
