"""The rendezvous of a real run: it listens on its published address only, and only ranks with the secret take part."""

import os
import secrets
import socket
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import psutil
import pytest
from torch.distributed import DistNetworkError

from contract.folder.events import Finished, Points
from contract.folder.rendezvous_point import RendezvousPoint
from contract.folder.run_folder import RunFolder
from runfiles import own_address as address
from runfiles import rendezvous as common
from runfiles.own_address import own_address
from tests.testing.trainers.jobs import events, finish, group, losses, prepare, ranks_of, start, until
from trainers.collectives.wire.address import use_reachable_address
from trainers.collectives.wire.handshake import Identity
from trainers.collectives.wire.shared_memory import create_shared_memory, open_shared_memory
from trainers.ranks import rendezvous
from trainers.ranks.rank_store import protocol
from trainers.ranks.rank_store.client import RankStore

TWO_RANKS = {"resources": {"kind": "local", "ranks_per_node": 2}, "collective": {"kind": "ring"}}


def await_point(folder: RunFolder, attempt: int = 1) -> RendezvousPoint:
    until(lambda: folder.read_rendezvous(attempt) is not None)
    point = folder.read_rendezvous(attempt)
    assert point is not None
    return point


def listening_addresses(process: psutil.Process) -> set[tuple[str, int]]:
    sockets = process.net_connections(kind="inet")
    return {(it.laddr.ip, it.laddr.port) for it in sockets if it.status == psutil.CONN_LISTEN}


@pytest.mark.ring("all")
def test_all_ranks_listen_on_the_published_address_only(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", epochs=100_000, **TWO_RANKS)
    job = start(folder)
    try:
        until(lambda: any(isinstance(event, Points) for event in events(folder)))
        point, ranks = await_point(folder), ranks_of(job)
        assert len(ranks) == 2
        listening = [listening_addresses(rank) for rank in ranks]
        assert (point.host, point.port) in listening[0]
        assert all(len(of_rank) >= 2 for of_rank in listening)  # of gloo and of the collectives
        addresses = {host for process in group(job.pid) for host, _ in listening_addresses(process)}
        assert addresses == {point.host} == {"127.0.0.1"}
    finally:
        job.kill()
        job.wait()


@pytest.mark.ring("all")
def test_a_run_goes_on_among_strangers(tmp_path: Path) -> None:
    """Forces processes without the secret at the store of a run that starts: a forged rank, noise, and silence."""
    undisturbed = prepare(tmp_path / "undisturbed", **TWO_RANKS)
    assert finish(start(undisturbed)) == (0, "")
    folder = prepare(tmp_path / "run", **TWO_RANKS)
    job = start(folder)
    point = await_point(folder)
    served = point.host, point.port
    silent = socket.create_connection(served)
    noisy = socket.create_connection(served)
    noisy.sendall(secrets.token_bytes(1000))
    with pytest.raises(DistNetworkError, match="does not know the attempt's secret"):
        RankStore(served, Identity(secrets.token_bytes(32), protocol.PURPOSE, 1), timeout_s=60.0)
    assert finish(job) == (0, "")
    silent.close()
    noisy.close()
    assert isinstance(events(folder)[-1], Finished)
    assert losses(folder) == losses(undisturbed)


@pytest.mark.ring("all")
def test_every_attempt_has_its_own_secret_which_only_its_user_can_read(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", **TWO_RANKS)
    points = []
    for attempt in (1, 2):
        assert finish(start(folder, "--attempt", str(attempt))) == (0, "")
        points.append(await_point(folder, attempt))
        file = folder.path / "attempts" / f"{attempt}.rendezvous"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert points[0].secret != points[1].secret
    assert points[0].secret not in repr(points[0])
    assert all(points[0].secret not in path.read_text() for path in (folder.events, folder.path / "spec.json"))


def test_a_file_that_is_not_complete_yet_counts_as_not_published(tmp_path: Path) -> None:
    """Forces an empty file, as NFS may show a new one."""
    folder = prepare(tmp_path / "run", **TWO_RANKS)
    file = folder.path / "attempts" / "1.rendezvous"
    file.touch()
    assert folder.read_rendezvous(1) is None
    point = RendezvousPoint(host="10.0.0.1", port=1, secret="0a" * 32)
    folder.write_rendezvous(1, point)
    assert folder.read_rendezvous(1) == point


@pytest.mark.parametrize(
    ("launched_from", "expected"),
    [("10.0.0.9", "10.0.0.1"), ("127.0.1.1", "10.2.0.1"), (None, "10.2.0.1")],
)
def test_where_the_host_name_is_loopback_an_address_that_others_reach_counts(
    monkeypatch: pytest.MonkeyPatch, launched_from: str | None, expected: str
) -> None:
    """Forces Debian's 127.0.1.1 for the host's own name, and for the host of srun, which other hosts cannot reach."""
    for name in ("GLOO_SOCKET_IFNAME", "MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR"):
        monkeypatch.delenv(name, raising=False)
    routes = {"10.0.0.9": "10.0.0.1", "127.0.1.1": "127.0.0.1", address.OTHER_NETWORK: "10.2.0.1"}
    monkeypatch.setattr(socket, "gethostbyname", lambda _: "127.0.1.1")
    monkeypatch.setattr(address, "address_facing", routes.__getitem__)
    if launched_from:
        monkeypatch.setenv("SLURM_LAUNCH_NODE_IPADDR", launched_from)
    assert own_address() == expected


def test_gloo_gets_the_interface_of_that_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the loopback name; without an interface gloo listens on 127.0.1.1 and fails with ranks of other hosts."""
    monkeypatch.setenv("MASTER_ADDR", "")
    for name in ("GLOO_SOCKET_IFNAME", "MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR"):
        monkeypatch.setenv(name, "")  # undone after the test, whatever is set meanwhile
        monkeypatch.delenv(name)
    monkeypatch.setattr(socket, "gethostbyname", lambda _: "127.0.1.1")
    monkeypatch.setattr(address, "address_facing", lambda _: "127.0.0.1")
    use_reachable_address("10.0.0.7")
    assert os.environ["MASTER_ADDR"] == "10.0.0.7"
    assert os.environ["GLOO_SOCKET_IFNAME"] == "lo"
    monkeypatch.setattr(socket, "gethostbyname", lambda _: "10.0.0.8")
    monkeypatch.delenv("GLOO_SOCKET_IFNAME")
    use_reachable_address("10.0.0.7")
    assert "GLOO_SOCKET_IFNAME" not in os.environ


class Waiting:
    """A run folder in which rank 0 publishes its address at `published_s` of a simulated clock; counts the calls."""

    def __init__(self, published_s: float) -> None:
        self.path, self.now_s, self.published_s, self.failed = Path("run"), 0.0, published_s, False
        self.reads, self.scans = 0, 0

    def read_rendezvous(self, _: int) -> RendezvousPoint | None:
        self.reads += 1
        return RendezvousPoint(host="10.0.0.1", port=1, secret="0a" * 32) if self.now_s >= self.published_s else None

    def list_failed_ranks(self, _: int) -> list[int]:
        self.scans += 1
        return [0] if self.failed else []

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def await_simulated(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "time", SimpleNamespace(monotonic=lambda: waiting.now_s, sleep=waiting.sleep))
    rendezvous.await_point(cast(RunFolder, waiting), 1)


def test_a_rank_that_waits_for_rank_0_opens_one_file_a_second_in_the_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks used to open 20 files and to read the folder of all ranks 20 times a second, each."""
    waiting = Waiting(published_s=120)
    await_simulated(waiting, monkeypatch)
    assert waiting.reads <= 120 + 20
    assert waiting.scans <= 10
    assert waiting.now_s < 121.5


def test_ranks_that_start_together_do_not_wait_long(monkeypatch: pytest.MonkeyPatch) -> None:
    for published_s in (0.01, 0.1, 0.5):
        waiting = Waiting(published_s)
        await_simulated(waiting, monkeypatch)
        assert waiting.now_s <= 1.5 * published_s + 0.003


def test_a_rank_that_waits_for_a_failed_rank_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Waiting(published_s=1000)
    waiting.failed = True
    with pytest.raises(ConnectionError, match="rank 0 failed before the rendezvous"):
        await_simulated(waiting, monkeypatch)
    assert waiting.now_s < 2
    waiting.failed = False
    with pytest.raises(TimeoutError, match="no address in run within 300 s"):
        await_simulated(waiting, monkeypatch)


def test_a_host_of_the_same_name_maps_no_strangers_memory() -> None:
    """Forces another memory under the path that a rank of a host with the same name has published."""
    own = create_shared_memory()
    assert own is not None
    host, path, name = own.address
    assert open_shared_memory((host, path, name)) is not None
    assert open_shared_memory((host, path, f"{name[:-1]}x")) is None
    assert open_shared_memory((f"{host}x", path, name)) is None
    own.close()
