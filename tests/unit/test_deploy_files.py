"""The chart renders to what Kubernetes takes and refuses bad values by name; compose runs what there is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest

from linkscore_cli.main import main

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "helm/linkscore"
KUBERNETES = "1.31.0"
SIDECAR = ["--set", "mode=sidecar,replicas=3,crawler.container.name=c,crawler.container.image=i"]
FULL = ["--set", "serviceMonitor.enabled=true,console.enabled=true,tokensSecret=tokens"]
CLUSTER = ["--set", "mode=cluster,replicas=3,databaseSecret=database"]

needs_helm = pytest.mark.skipif(not shutil.which("helm"), reason="needs helm")
needs_kubeconform = pytest.mark.skipif(not shutil.which("kubeconform"), reason="needs kubeconform")


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["helm", *arguments], capture_output=True, text=True, check=False)


def rendered(*arguments: str, name: str = "r") -> str:
    done = helm("template", name, str(CHART), "--kube-version", KUBERNETES, *arguments)
    assert done.returncode == 0, done.stderr
    return re.sub(r"^# Source: .*\n", "", done.stdout, flags=re.MULTILINE)


def test_the_chart_has_the_version_of_the_package() -> None:
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    chart = (CHART / "Chart.yaml").read_text()
    assert f"\nversion: {project['version']}\n" in chart
    assert f'\nappVersion: "{project["version"]}"\n' in chart


@pytest.mark.skipif(not shutil.which("docker-compose"), reason="needs docker-compose")
@pytest.mark.parametrize(
    ("file", "services"),
    [
        ("compose.yaml", {"linkscore", "console", "demo", "prometheus"}),
        ("compose.cluster.yaml", {"one", "two", "primary", "standby"}),
    ],
)
def test_the_compose_files_are_some(file: str, services: set[str]) -> None:
    command = ["docker-compose", "-f", str(DEPLOY / file), "config", "--services"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) - {"frontier"} == services  # of a profile: not every version names it


def test_containers_run_commands_that_there_are() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    services = re.findall(r"image: (linkscore\S*)\n    command: (\[.*\])\n", text)
    assert [image for image, _ in services] == ["linkscore", "linkscore", "linkscore-demo"]
    for _, command in services:
        name, *arguments = json.loads(command)
        found = main.get_command(click.Context(main), name)
        assert found is not None
        assert found.make_context(name, arguments).params["target"] == "linkscore:7411"


def test_what_the_images_are_made_of_is_sent_to_the_build() -> None:
    root = DEPLOY.parent
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (root / "Dockerfile").read_text(), re.MULTILINE)
    sent = {line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    sources = {source for line in copied for source in line.split()}
    assert "requirements/server*.lock" in sources
    assert sources == sent
    assert all(list(root.glob(source)) for source in sources)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_the_unit_is_one(tmp_path: Path) -> None:
    unit = tmp_path / "linkscore.service"
    there = (DEPLOY / "systemd/linkscore.service").read_text()
    unit.write_text(there.replace("/opt/linkscore/bin/linkscore", "/bin/true"))  # as it is not installed here
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@needs_helm
@needs_kubeconform
@pytest.mark.parametrize(
    "values",
    [
        [],
        FULL,
        SIDECAR,
        [*SIDECAR, "--set", "tlsSecret=tls"],
        [*FULL, "--set", "tlsSecret=tls"],
        [*CLUSTER, "--set", "tlsSecret=tls", "--set", "tokensSecret=tokens"],
        CLUSTER,
    ],
)
def test_what_it_renders_is_what_kubernetes_takes(values: list[str]) -> None:
    location = str(DEPLOY / "helm/schemas/{{.ResourceKind}}{{.KindSuffix}}.json")
    command = ["kubeconform", "-strict", "-kubernetes-version", KUBERNETES, "-skip", "ServiceMonitor"]
    done = subprocess.run(
        [*command, "-schema-location", location, "-"],
        input=rendered(*values),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_helm
@pytest.mark.parametrize(
    ("values", "named"),
    [
        ("mode=sidecar", "crawler/container"),
        ("replicas=2", "replicas"),
        ("mode=cluster", "databaseSecret"),
        ("persistence.size=lots", "persistence/size"),
        ("no_such=1", "no_such"),
        ("settings.LINKSCORE_MAX_SITES=5", "settings"),
        ("terminationGracePeriodSeconds=5", "terminationGracePeriodSeconds"),
    ],
)
def test_bad_values_are_refused_by_name(values: str, named: str) -> None:
    done = helm("template", "r", str(CHART), "--kube-version", KUBERNETES, "--set", values)
    assert done.returncode != 0
    assert named in done.stderr


@needs_helm
def test_servers_of_a_cluster_keep_nothing_and_tell_each_other_their_names() -> None:
    text = rendered(*CLUSTER)
    assert "volumeClaimTemplates" not in text
    assert '{name: LINKSCORE_ADVERTISE, value: "$(POD_NAME).r-linkscore-peers:7412"}' in text


@needs_helm
def test_the_base_is_what_the_chart_renders() -> None:
    assert (DEPLOY / "kustomize/base/linkscore.yaml").read_text() == rendered(name="linkscore")
