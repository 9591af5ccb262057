"""The network: one namespace per host, all plugged into a bridge that has a namespace of its own.

The bridge lives apart for two reasons. A Docker engine on the same machine sends bridged packets through the machine's
iptables and drops them; its rules do not reach into another namespace. And when the namespaces are deleted every link,
queue and bridge goes with them, so there is nothing to forget.
"""

import time
from pathlib import Path

from lab.command import run, works
from lab.errors import LabError
from lab.instance import NUMBER, SUFFIX
from lab.layout import HEAD_ADDRESS, Host, Layout

SWITCH = f"bblab{SUFFIX}-switch"
BRIDGE = "bridge0"  # inside the switch
HEAD_LINK = f"bblab{NUMBER}"  # the machine's own end of its link to the switch
HOSTS_FILE = Path("/etc/hosts")
MARK = f"# bigbatch-lab{SUFFIX}"
NAMESPACES = Path("/run/netns")
# What TCP hands to a link in one piece. A piece of 64 KiB is, with its headers, longer than the burst of a shaped link,
# which would cut it into 1,514 bytes by the hosts' cores; a smaller one is counted alike and goes through as it is.
PACKET_BYTES = 65536
SHAPED_PACKET_BYTES = 32768


def plug_in(layout: Layout) -> None:
    """Make what is not there yet of the switch, the head's link and every host's link."""
    _add_namespace(SWITCH)
    if not _has_link(SWITCH, BRIDGE):
        run("ip", "-n", SWITCH, "link", "add", BRIDGE, "type", "bridge")
    run("ip", "-n", SWITCH, "link", "set", BRIDGE, "up")
    if not works("ip", "link", "show", HEAD_LINK):
        run("ip", "link", "add", HEAD_LINK, "type", "veth", "peer", "name", "head", "netns", SWITCH)
    _switch_on("head")
    run("ip", "address", "replace", f"{HEAD_ADDRESS}/24", "dev", HEAD_LINK)
    run("ip", "link", "set", HEAD_LINK, "up")
    for host in layout.hosts:
        _plug_in_host(host)


def shape(layout: Layout) -> None:
    """Give every host's link this rate in both directions, or take the shaping off."""
    for host in layout.hosts:
        largest = SHAPED_PACKET_BYTES if layout.rate else PACKET_BYTES
        run("ip", "-n", host.namespace, "link", "set", "eth0", "gso_max_size", str(largest))
        for namespace, device in ((host.namespace, "eth0"), (SWITCH, host.name)):
            if layout.rate:
                queue = ("tbf", "rate", layout.rate, "burst", "64kb", "latency", "100ms")
                run("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *queue)
            else:
                works("tc", "-n", namespace, "qdisc", "del", "dev", device, "root")  # fails where nothing is shaped


def name_hosts(layout: Layout, hosts_file: Path = HOSTS_FILE) -> None:
    """Write the hosts' names into /etc/hosts: without them torch's rendezvous stalls for minutes."""
    forget_hosts(hosts_file)
    old = hosts_file.read_text()
    lines = [f"{host.address} {host.name} {MARK}\n" for host in layout.hosts]
    # written in place, never renamed over: in a container /etc/hosts is a mount
    hosts_file.write_text(old + ("" if old.endswith("\n") or not old else "\n") + "".join(lines))


def forget_hosts(hosts_file: Path = HOSTS_FILE) -> None:
    """Take our lines out of /etc/hosts and leave all others as they are."""
    old = hosts_file.read_text()
    new = "".join(line for line in old.splitlines(keepends=True) if not line.rstrip().endswith(MARK))
    if new != old:
        hosts_file.write_text(new)


def namespaces() -> list[str]:
    """Return the lab's namespaces that exist, whatever layout made them."""
    return sorted(path.name for path in NAMESPACES.glob(f"bblab{SUFFIX}-*"))


def inode(namespace: str) -> int:
    """Return the number that tells this namespace from a deleted one of the same name; 0 if there is none."""
    try:
        return (NAMESPACES / namespace).stat().st_ino
    except FileNotFoundError:
        return 0


def unplug(*, patience_s: float = 10) -> None:
    """Delete all namespaces, in which nobody may live any more, and wait until the kernel has taken the links away."""
    for namespace in namespaces():
        run("ip", "netns", "delete", namespace)
    until = time.monotonic() + patience_s
    while works("ip", "link", "show", HEAD_LINK):
        if time.monotonic() > until:
            raise LabError(f"{HEAD_LINK} is still there {patience_s:.0f} s after its namespace was deleted")
        time.sleep(0.05)


def _plug_in_host(host: Host) -> None:
    namespace = host.namespace
    _add_namespace(namespace)
    if not _has_link(namespace, "eth0"):
        works("ip", "-n", SWITCH, "link", "delete", host.name)  # its other end may be in a namespace that lost its name
        run("ip", "-n", SWITCH, "link", "add", host.name, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    _switch_on(host.name)
    run("ip", "-n", namespace, "address", "replace", f"{host.address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        run("ip", "-n", namespace, "link", "set", device, "up")


def _add_namespace(name: str) -> None:
    if _has_link(name, "lo"):
        return
    if (NAMESPACES / name).exists():  # a crash in the wrong moment leaves a name without a namespace
        run("ip", "netns", "delete", name)
    run("ip", "netns", "add", name)


def _has_link(namespace: str, device: str) -> bool:
    return works("ip", "-n", namespace, "link", "show", device)


def _switch_on(port: str) -> None:
    run("ip", "-n", SWITCH, "link", "set", port, "master", BRIDGE, "up")
