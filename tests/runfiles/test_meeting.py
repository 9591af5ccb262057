"""The rendezvous of agents and of the engine's ranks: the same file, the same pace, and the same own address."""

import json
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent.folder.run_folder import RunFolder as AgentFolder
from agent.ranks.rendezvous import await_point, publish_point
from contract.folder.run_folder import RunFolder
from runfiles import own_address, rendezvous
from tests.testing.programs import program_folder

pytestmark = pytest.mark.ring("quick")
WHOLE = {"host": "10.0.0.1", "port": 4000, "secret": "0a" * 32}


@pytest.fixture
def folder(tmp_path: Path) -> AgentFolder:
    return AgentFolder(program_folder(tmp_path, "true").path)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "[" * 60_000),
        *(json.dumps(WHOLE | change) for change in ({"port": 0}, {"port": 65_536}, {"secret": "0a"}, {"host": 7})),
    ],
    ids=lambda text: text[:60],
)
def test_a_file_that_is_not_whole_is_not_published_for_both(folder: AgentFolder, text: str) -> None:
    """Forces the fault: agents took a file of a damaged disk for the address of rank 0."""
    (folder.attempts / "1.rendezvous").write_text(text)
    assert [rendezvous.point_in(text), RunFolder(folder.path).read_rendezvous(1)] == [None, None]


def test_what_an_agent_publishes_is_read_by_both(folder: AgentFolder) -> None:
    point = publish_point(folder, 1, is_one_host=True)
    found = RunFolder(folder.path).read_rendezvous(1)
    assert found is not None
    assert (found.host, found.port) == point == await_point(folder, 1, lambda: False)


def test_an_agent_that_waits_for_rank_0_opens_one_file_a_second_in_the_long_run(
    folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: each agent of a large job opened the file on the shared disk twenty times a second."""
    now_s, looks = [0.0], [0]

    def sleep(seconds: float) -> None:
        now_s[0] += seconds
        looks[0] += 1

    monkeypatch.setattr(rendezvous, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))
    with pytest.raises(TimeoutError, match="within 300 s"):
        await_point(folder, 1, lambda: False)
    assert looks[0] <= 300 + 20


def test_an_agent_that_was_asked_to_end_leaves_at_once(folder: AgentFolder) -> None:
    publish_point(folder, 1, is_one_host=True)
    assert await_point(folder, 1, lambda: True) is None


def test_an_agent_whose_host_name_is_loopback_publishes_an_address_that_others_reach(
    folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: without srun's variable an agent on Debian published 127.0.1.1 to other hosts."""
    for name in ("MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "no-such-interface")
    monkeypatch.setattr(socket, "gethostbyname", lambda _: "127.0.1.1")
    monkeypatch.setattr(own_address, "address_facing", {own_address.OTHER_NETWORK: "10.2.0.1"}.__getitem__)
    assert publish_point(folder, 1, is_one_host=False).host == "10.2.0.1"
