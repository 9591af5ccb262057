"""The rendezvous of a real run: it listens on its published address only, and only ranks with the secret take part."""

import secrets
import socket
import stat
from pathlib import Path

import psutil
import pytest
from torch.distributed import DistNetworkError

from contract.folder.events import Finished, Points
from contract.folder.rendezvous_point import RendezvousPoint
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.jobs import events, finish, group, losses, prepare, ranks_of, start, until
from trainers.collectives.wire.address import own_address
from trainers.collectives.wire.handshake import Identity
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


def test_a_run_goes_on_among_strangers(tmp_path: Path) -> None:
    """Forces processes without the secret at the store of a run that starts: a forged rank, noise, and silence."""
    undisturbed = prepare(tmp_path / "undisturbed", **TWO_RANKS)
    assert finish(start(undisturbed)) == (0, "")
    folder = prepare(tmp_path / "run", **TWO_RANKS)
    job = start(folder)
    point = await_point(folder)
    address = point.host, point.port
    silent = socket.create_connection(address)
    noisy = socket.create_connection(address)
    noisy.sendall(secrets.token_bytes(1000))
    with pytest.raises(DistNetworkError, match="does not know the attempt's secret"):
        RankStore(address, Identity(secrets.token_bytes(32), protocol.PURPOSE, 1), timeout_s=60.0)
    assert finish(job) == (0, "")
    silent.close()
    noisy.close()
    assert isinstance(events(folder)[-1], Finished)
    assert losses(folder) == losses(undisturbed)


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


def test_where_the_host_name_is_loopback_the_route_to_sruns_host_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces Debian's 127.0.1.1 for the host's own name, which other hosts cannot reach."""
    for name in ("GLOO_SOCKET_IFNAME", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "gethostbyname", lambda _: "127.0.1.1")
    monkeypatch.setenv("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.9")  # the route leads from 127.0.0.1
    assert own_address() == "127.0.0.1"
