"""Build the container images and let one serve a crawl, as deploy/compose.yaml and a sidecar run them.

Needs buildah, podman and runc, no daemon, and says so in a line where they are not. The base is taken from
the local images, then from its registry, and made by debootstrap where neither has it. Prints what the images
weigh.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASE = "docker.io/library/python:3.11-slim-bookworm"
RUST = "docker.io/library/rust:1-slim-bookworm"
STAND_IN = "localhost/linkscore-base"
PAGES = 60
"""Fetches of the crawl beside the sidecar: some ten seconds, enough to learn from. Chosen, not measured."""
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
PODMAN = ("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs")
LOCKED_DOWN = (
    *("--network", "host", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--health-interval", "disable", "--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1024:2048"),
)


def main() -> int:
    """Build and try; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default=BASE, help="image that ours is built on")
    parser.add_argument("--rust", default=RUST, help="image that has cargo")
    given = parser.parse_args()
    # So that it runs inside of a container too: without overlays, and below without systemd.
    os.environ.update(STORAGE_DRIVER="vfs", BUILDAH_ISOLATION="chroot")
    missing = [tool for tool in ("buildah", "podman", "runc") if not shutil.which(tool)]
    if missing or os.geteuid():
        needs = ", ".join(missing) or "root"
        print(f"image: skipped, it needs {needs} (Debian: apt-get install buildah podman runc)")
        return 0
    base = given.base if there(given.base) else stand_in()
    if base is None:
        print(f"image: skipped, {given.base} is out of reach and debootstrap missing")
        return 0
    images = {"pure": build("pure", base, base), "demo": build("pure", base, base, "--target", "demo")}
    if there(given.rust):
        images["native"] = build("native", base, given.rust)
    else:
        print(f"image: the compiled reader is left out, {given.rust} is out of reach")
    for name, image in images.items():
        print(f"{name}: {(size(image) - size(base)) / 1e6:.0f} MB over its base")
    serves_a_crawl(images.get("native", images["pure"]), images["demo"])
    return 0


def there(image: str) -> bool:
    """Whether an image is here, or was fetched."""
    return not run(
        "buildah", "pull", "--policy", "missing", "--retry", "0", "--quiet", image, check=False
    ).returncode


def stand_in() -> str | None:
    """Return an image of Debian's own Python in place of the base; None where it cannot be made."""
    if not there(STAND_IN):
        if not shutil.which("debootstrap"):
            return None
        with tempfile.TemporaryDirectory() as folder:
            packages = "--include=python3,python3-venv,ca-certificates"
            run("debootstrap", "--variant=minbase", packages, "bookworm", folder)
            shutil.copy(AUTHORITIES, folder + str(AUTHORITIES))
            container = output("buildah", "from", "scratch")
            run("buildah", "copy", "--quiet", container, folder, "/")
            run("buildah", "config", "--env", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
            run("buildah", "commit", "--quiet", "--rm", container, STAND_IN)
    return STAND_IN


def build(reader: str, base: str, rust: str, *more: str) -> str:
    """Build a target of the Dockerfile; return the id of its image."""
    arguments = [f"--build-arg=BASE={base}", f"--build-arg=RUST={rust}", f"--build-arg=READER={reader}"]
    secret = [f"--secret=id=build_ca,src={AUTHORITIES}"] if AUTHORITIES.exists() else []
    quiet = ["--quiet", "--pull=never", "--format=docker", "--network=host", "--layers"]
    return output("buildah", "build", *quiet, *arguments, *secret, *more, str(ROOT)).splitlines()[-1]


def size(image: str) -> int:
    """Return what an image takes, in bytes."""
    return int(json.loads(output(*PODMAN, "image", "inspect", image))[0]["Size"])


def serves_a_crawl(image: str, demo: str) -> None:
    """Run the server locked down, a real Scrapy crawl beside it, and the server again on the same volume."""
    volume = output(*PODMAN, "volume", "create")
    try:
        with server(image, volume) as (name, target, metrics):
            assert output(*PODMAN, "exec", name, "id", "-u") == "10001"
            written = run(*PODMAN, "exec", name, "touch", "/opt/linkscore/x", check=False)
            assert "Read-only file system" in written.stderr, written
            run(*PODMAN, "healthcheck", "run", name)
            crawl = ["demo", "--target", target, "--budget", str(PAGES), "--out", "/tmp/out"]  # noqa: S108
            run(*PODMAN, "run", "--rm", "--tmpfs", "/tmp", *LOCKED_DOWN, demo, *crawl)  # noqa: S108
            assert taken_in(metrics) == PAGES
            run(*PODMAN, "stop", "--time", "30", name)
            said = run(*PODMAN, "logs", name).stderr
            assert "stopped: all acknowledged pages of 1 crawls are in /var/lib/linkscore" in said, said
            assert output(*PODMAN, "inspect", "--format", "{{.State.ExitCode}}", name) == "0"
        with server(image, volume) as (name, target, _):
            asked = ["linkscore", "crawls", "list", "--json", "--target", target]
            listed = output(*PODMAN, "exec", name, *asked)
            assert [int(crawl["page_count"]) for crawl in json.loads(listed)] == [PAGES], listed
    finally:
        run(*PODMAN, "volume", "rm", "--force", volume)
    print(f"image: {PAGES} pages of a Scrapy crawl beside it, drained, and there after a restart")


@contextmanager
def server(image: str, volume: str) -> Iterator[tuple[str, str, str]]:
    """Run the image; give the container's name, and the addresses of its calls and of its metrics."""
    target, metrics = free_address(), free_address()
    settings = ["--env", f"LINKSCORE_LISTEN={target}", "--env", f"LINKSCORE_METRICS_LISTEN={metrics}"]
    mount = ["--volume", f"{volume}:/var/lib/linkscore"]
    name = output(*PODMAN, "run", "--detach", *LOCKED_DOWN, *mount, *settings, image)
    try:
        for _ in range(120):
            if run(*PODMAN, "exec", name, "linkscore", "health", check=False).stdout.strip() == "SERVING":
                break
            time.sleep(0.5)
        else:
            raise AssertionError(run(*PODMAN, "logs", name).stderr)
        yield name, target, metrics
    finally:
        run(*PODMAN, "rm", "--force", "--time", "30", name)


def taken_in(metrics: str) -> int:
    """Return how many pages a server says it took in."""
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=10) as answer:
        figures = re.findall(
            r'^linkscore_pages_total\{outcome="ok"\} (\S+)$', answer.read().decode(), re.MULTILINE
        )
    return sum(int(float(figure)) for figure in figures)


def free_address() -> str:
    """Return an address of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def output(*command: str) -> str:
    """Run a command; return what it printed."""
    return run(*command).stdout.strip()


def run(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command; if it must not fail and does, say what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done


if __name__ == "__main__":
    sys.exit(main())
