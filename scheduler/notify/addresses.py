"""Which addresses messages may go to.

The service stands in a network that its users' browsers may not reach: the metadata service of a cloud, a database
without a password. By default a message goes to public addresses alone. The setting `notify_hosts` allows further hosts
and networks. The address that was checked is the one that is connected: a name may mean another one a moment later.
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
# IPv6 addresses that contain an IPv4 address, to which the network may send
TRANSLATED = (
    ip_network("64:ff9b::/96"),
    ip_network("64:ff9b:1::/48"),
    ip_network("2002::/16"),
    ip_network("2001::/32"),
)


class RefusedAddressError(ValueError):
    """Messages may not go there."""


@dataclass(frozen=True)
class AllowedHosts:
    """The hosts and networks that are allowed besides public addresses."""

    names: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, entries: Sequence[str]) -> "AllowedHosts":
        """Return the hosts and networks of a setting, which was checked before."""
        names, networks = set[str](), list[Network]()
        for entry in entries:
            try:
                networks.append(ip_network(entry, strict=False))
            except ValueError:
                names.add(entry.lower())
        return cls(frozenset(names), tuple(networks))

    def find_address(self, host: str, port: int) -> str:
        """Return an allowed address of a host; raise RefusedAddressError, or OSError if the host is not known."""
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        allowed = [address for address in found if self.is_allowed(host, address)]
        if not allowed:
            hint = "BIGBATCH_NOTIFY_HOSTS allows further hosts and networks"
            raise RefusedAddressError(f"{host} has the address {found[0]}, which is not public: {hint}")
        return allowed[0]

    def is_own(self, host: str, address: str) -> bool:
        """Return whether the setting names the host or a network of its address."""
        ip = _unmapped(address)
        return host.lower() in self.names or any(ip in network for network in self.networks)

    def is_allowed(self, host: str, address: str) -> bool:
        """Return whether a message may go to an address of a host."""
        ip = _unmapped(address)
        is_public = ip.is_global and not ip.is_multicast and not any(ip in network for network in TRANSLATED)
        return is_public or self.is_own(host, address)


def _unmapped(address: str) -> IPv4Address | IPv6Address:
    ip = ip_address(address.partition("%")[0])
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip
