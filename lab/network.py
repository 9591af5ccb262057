"""The network: one namespace per host, all connected to a bridge in a namespace of its own.

The bridge has a separate namespace for two reasons. Docker on the same machine sends bridged packets through the
machine's iptables and drops them; its rules do not apply in another namespace. And deleting the namespaces also deletes
every link, queue and bridge.
"""

import time
from pathlib import Path

from lab.command import run, succeeds
from lab.errors import LabError
from lab.instance import NUMBER, SUFFIX
from lab.layout import HEAD_ADDRESS, Host, Layout

SWITCH = f"bblab{SUFFIX}-switch"
BRIDGE = "bridge0"  # inside the switch
HEAD_LINK = f"bblab{NUMBER}"  # the machine's end of its link to the switch
HOSTS_FILE = Path("/etc/hosts")
MARK = f"# bigbatch-lab{SUFFIX}"
NAMESPACES = Path("/run/netns")
# Largest TCP segment that the kernel passes to a link. A segment of 64 KiB with its headers exceeds the burst size of a
# shaped link, and the CPU would split it into packets of 1,514 bytes. A smaller segment passes whole at the same cost.
SEGMENT_BYTES = 65536
SHAPED_SEGMENT_BYTES = 32768


def connect_hosts(layout: Layout) -> None:
    """Create the switch, the link of the head and the link of every host where they do not exist yet."""
    _add_namespace(SWITCH)
    if not _has_link(SWITCH, BRIDGE):
        run("ip", "-n", SWITCH, "link", "add", BRIDGE, "type", "bridge")
    run("ip", "-n", SWITCH, "link", "set", BRIDGE, "up")
    if not succeeds("ip", "link", "show", HEAD_LINK):
        run("ip", "link", "add", HEAD_LINK, "type", "veth", "peer", "name", "head", "netns", SWITCH)
    _enable_port("head")
    run("ip", "address", "replace", f"{HEAD_ADDRESS}/24", "dev", HEAD_LINK)
    run("ip", "link", "set", HEAD_LINK, "up")
    for host in layout.hosts:
        _connect_host(host)


def shape_links(layout: Layout) -> None:
    """Limit every host's link to the layout's rate in both directions, or remove the limit."""
    for host in layout.hosts:
        largest = SHAPED_SEGMENT_BYTES if layout.rate else SEGMENT_BYTES
        run("ip", "-n", host.namespace, "link", "set", "eth0", "gso_max_size", str(largest))
        for namespace, device in ((host.namespace, "eth0"), (SWITCH, host.name)):
            if layout.rate:
                queue = ("tbf", "rate", layout.rate, "burst", "64kb", "latency", "100ms")
                run("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *queue)
            else:
                succeeds("tc", "-n", namespace, "qdisc", "del", "dev", device, "root")  # fails on an unshaped link


def add_host_names(layout: Layout, hosts_file: Path = HOSTS_FILE) -> None:
    """Write the hosts' names into /etc/hosts; torch's rendezvous stalls for minutes on an unknown name."""
    remove_host_names(hosts_file)
    old = hosts_file.read_text()
    lines = [f"{host.address} {host.name} {MARK}\n" for host in layout.hosts]
    # Write the file in place: in a container /etc/hosts is a mount and cannot be replaced by a rename.
    hosts_file.write_text(old + ("" if old.endswith("\n") or not old else "\n") + "".join(lines))


def remove_host_names(hosts_file: Path = HOSTS_FILE) -> None:
    """Remove the lab's lines from /etc/hosts and leave all other lines unchanged."""
    old = hosts_file.read_text()
    new = "".join(line for line in old.splitlines(keepends=True) if not line.rstrip().endswith(MARK))
    if new != old:
        hosts_file.write_text(new)


def list_namespaces() -> list[str]:
    """Return the existing namespaces of this lab, those of an earlier layout included."""
    return sorted(path.name for path in NAMESPACES.glob(f"bblab{SUFFIX}-*"))


def namespace_inode(namespace: str) -> int:
    """Return the inode of a namespace, which differs from that of a deleted one of this name; 0 if there is none."""
    try:
        return (NAMESPACES / namespace).stat().st_ino
    except FileNotFoundError:
        return 0


def remove(*, patience_s: float = 10) -> None:
    """Delete all namespaces, which no process may use any more, and wait until the kernel has removed the links."""
    for namespace in list_namespaces():
        run("ip", "netns", "delete", namespace)
    deadline = time.monotonic() + patience_s
    while succeeds("ip", "link", "show", HEAD_LINK):
        if time.monotonic() > deadline:
            raise LabError(f"{HEAD_LINK} still exists {patience_s:.0f} s after the deletion of its namespace")
        time.sleep(0.05)


def _connect_host(host: Host) -> None:
    namespace = host.namespace
    _add_namespace(namespace)
    if not _has_link(namespace, "eth0"):
        # The other end of an old link may be in a namespace that has lost its name.
        succeeds("ip", "-n", SWITCH, "link", "delete", host.name)
        run("ip", "-n", SWITCH, "link", "add", host.name, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    _enable_port(host.name)
    run("ip", "-n", namespace, "address", "replace", f"{host.address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        run("ip", "-n", namespace, "link", "set", device, "up")


def _add_namespace(name: str) -> None:
    if _has_link(name, "lo"):
        return
    if (NAMESPACES / name).exists():  # a crash can leave a name without a namespace
        run("ip", "netns", "delete", name)
    run("ip", "netns", "add", name)


def _has_link(namespace: str, device: str) -> bool:
    return succeeds("ip", "-n", namespace, "link", "show", device)


def _enable_port(port: str) -> None:
    run("ip", "-n", SWITCH, "link", "set", port, "master", BRIDGE, "up")
