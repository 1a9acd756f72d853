"""A network of its own for each server, by network namespaces: a link may be cut, and nobody is told."""

from __future__ import annotations

import shutil
import subprocess

HERE = "10.79.0.1"
"""Where brokers and callers are, on the bridge that all links end at."""

_BRIDGE = "linkscore"


def are_possible() -> bool:
    """Say whether this process is in a network of its own, where nothing is disturbed: `make test-kafka`."""
    if shutil.which("ip") is None:
        return False
    return [line.split()[0] for line in _run("ip", "-brief", "link").splitlines()] == ["lo"]


class Links:
    """A bridge, and a link to it for each server."""

    def __init__(self) -> None:
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", _BRIDGE, "type", "bridge")
        _run("ip", "addr", "add", f"{HERE}/24", "dev", _BRIDGE)
        _run("ip", "link", "set", _BRIDGE, "up")
        self._holders: dict[str, subprocess.Popen[bytes]] = {}

    def address(self, name: str) -> str:
        """Return where a server is reached; its network is made when it is first asked for."""
        if name not in self._holders:
            self._make(name)
        return f"{HERE.rpartition('.')[0]}.{list(self._holders).index(name) + 2}"

    def command(self, name: str) -> list[str]:
        """Return what runs a command in the network of a server."""
        self.address(name)
        return ["nsenter", f"--net=/proc/{self._holders[name].pid}/ns/net"]

    def cut(self, name: str) -> None:
        """Let no packet through any more, either way."""
        _run("ip", "link", "set", f"to-{name}", "nomaster")

    def mend(self, name: str) -> None:
        """Let packets through again."""
        _run("ip", "link", "set", f"to-{name}", "master", _BRIDGE)

    def close(self) -> None:
        """Take all down."""
        for holder in self._holders.values():
            holder.kill()
            holder.wait()
        _run("ip", "link", "delete", _BRIDGE)

    def _make(self, name: str) -> None:
        holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo there; exec sleep infinity"], stdout=subprocess.PIPE
        )
        assert holder.stdout is not None
        with holder.stdout as said:
            assert said.read(5) == b"there"
        self._holders[name] = holder
        _run(
            "ip",
            "link",
            "add",
            f"to-{name}",
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            str(holder.pid),
        )
        _run("ip", "link", "set", f"to-{name}", "up")
        self.mend(name)
        inside = self.command(name)
        _run(*inside, "ip", "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        _run(*inside, "ip", "link", "set", "eth0", "up")
        _run(*inside, "ip", "link", "set", "lo", "up")


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
