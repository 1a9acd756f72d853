"""Settings as who starts a server meets them: their sources, and one case for each way to be wrong.

Token files: what stands in a line, and files that change.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from linkscore_cli.extras import install_command
from linkscore_cli.main import main
from linkscore_server.operator_files import Caller, Role, digest_of, parse_tokens
from linkscore_server.settings import Settings
from support.command_line import run as run_command

CHART = Path(__file__).parents[3] / "deploy/helm/linkscore/values.schema.json"
RANGE, FORMS = "must be from {} to {}, got {}; {} is the default", "with a port up to 65535, got {!r}"
FOLDER, PLACE = (
    "must be a folder on a disk that this user may write, or memory, got {!r}: {} is none",
    "must be a folder (no ~), postgresql://USER@HOST/DATABASE, or memory, got {!r}",
)
OWN_PORT = "must have a port of its own, {} has 7000 too; write 0 for a free one"
NO_ADDRESS = "{}: Cannot assign requested address; this machine has no such address: write 127.0.0.1"
WRONG = {
    "--data-dir=/proc/x": FOLDER.format("/proc/x", "/proc"),
    "--data-dir=tokens": "that this user may write, or memory, got 'tokens'",
    "--data-dir=": PLACE.format(""),
    "--data-dir=~/linkscore": PLACE.format("~/linkscore"),
    "--data-dir=postgresql://u:secret@h": PLACE.format("postgresql://u:***@h"),
    "--data-dir=mysql://h/d": PLACE.format("mysql://h/d"),
    "--memory-mb=10": RANGE.format(128, 16_777_216, 10, 1_800),
    "--memory-mb=16000000": "MiB of this machine, got 16000000",
    "--memory-mb=nan": "must be a whole number, got 'nan'",
    "--memory-mb=1e3": "must be a whole number, got '1e3'",
    "--memory-mb=": "must be a whole number, got ''",
    "--site-memory-mb=1800": "must be below memory_mb, which is 1800, got 1800; write 0 for three quarters",
    "--max-links=99999999999999999999": RANGE.format(1, 2_147_483_647, "99999999999999999999", 10_000),
    "--max-body-bytes=-1": RANGE.format(1_000, 2_147_483_647, -1, 10_000_000),
    "--max-message-bytes=999999999": "must be at most max_inflight_bytes, which is 268435456, got 999999999",
    "--drain-s=nan": RANGE.format(0.001, 3600, "nan", 15.0),
    "--drain-s=inf": RANGE.format(0.001, 3600, "inf", 15.0),
    "--target-delay-s=0": RANGE.format(0.001, 3600, 0.0, 5.0),
    "--min-free-mb=2147483647": "MiB of the disk of data_dir, got 2147483647",
    "--log-level=loud": "must be debug, info, warning, error, got 'loud'",
    "--browse-window-days=999999": RANGE.format(2, 3650, 999999, 60),
    "--listen=": "must be host:port or unix:PATH, " + FORMS.format(""),
    "--listen=here": "must be host:port or unix:PATH, " + FORMS.format("here"),
    "--listen=127.0.0.1:99999": "must be host:port or unix:PATH, " + FORMS.format("127.0.0.1:99999"),
    "--listen=203.0.113.7:7411": NO_ADDRESS.format("203.0.113.7:7411"),
    "--listen=unix:/no/such/socket": "in a folder that is there, got '/no/such/socket'",
    "--listen=unix:/tmp/" + "x" * 110: "must be a path of at most 107 bytes",
    "--listen=http://h:1": "must be host:port or unix:PATH, " + FORMS.format("http://h:1"),
    "--metrics-listen=unix:/tmp/x": "must be host:port, " + FORMS.format("unix:/tmp/x"),
    "--metrics-listen=127.0.0.1:7000 --listen=127.0.0.1:7000": OWN_PORT.format("listen"),
    "--json-listen=127.0.0.1:7000 --metrics-listen=0.0.0.0:7000": OWN_PORT.format("metrics_listen"),
    "--peers-listen=127.0.0.1:7000 --listen=127.0.0.1:7000": OWN_PORT.format("listen"),
    "--advertise=here": "must be host:port, " + FORMS.format("here"),
    "--workers=2 --data-dir=memory": "must be 1 with data_dir = memory",
    "--workers=2 --listen=unix:/tmp/x": "must be 1 at a unix socket",
    "--workers=2 --data-dir=postgresql://h/d": "must be 1 over a database",
    "--tls-cert=tokens": "tls_cert and tls_key must be set together",
    "--tls-cert=tokens --tls-key=tokens": "must be a certificate and its key in PEM, without a password",
    "--tls-client-ca=tokens": "needs tls_cert and tls_key",
    "--token-file=/no/such": "no such file: /no/such",
    "--token-file=tokens": "line 1: must be NAME ROLE CRAWLS sha256:HEX, as `linkscore token` prints it",
    "--token-file=empty.toml": "has no token",
    "--config=/no/such": "No such file or directory",
    "--config=torn.toml": "cannot read torn.toml",
}
FILES = {
    "\ufeffmemory_mbb = 1": ("memory_mbb", "unknown setting; did you mean memory_mb?"),
    "colour = 1": ("colour", "unknown setting; docs/reference/settings.md lists them"),
    "[listen]\nport = 1": ("listen", "must be a text, got {'port': 1}"),
    "max_links = 'many'": ("max_links", "must be a whole number, got 'many'"),
    "max_links = true": ("max_links", "must be a whole number, got True"),
}
VARIABLES = {
    "LINKSCORE_MEMORY_MBB": ("memory_mbb", "unknown setting; did you mean memory_mb?"),
    "LINKSCORE_DRAIN_S": ("drain_s", "must be a number, got 'x'"),
    "LINKSCORE_TOKEN": ("token", "a server reads its token from token_file"),
    "LINKSCORE_TLS_CA": ("tls_ca", "a server takes tls_cert, tls_key and tls_client_ca"),
}
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder with files that are wrong."""
    monkeypatch.chdir(tmp_path)
    Path("tokens").write_text("hunter2\n")
    Path("empty.toml").write_text("\n")
    Path("torn.toml").write_text("listen = ")

    def run(*arguments: str, **environment: str) -> Result:
        clean = {name: None for name in os.environ if name.startswith("LINKSCORE_")}
        return CliRunner(env=clean | environment).invoke(main, arguments)

    return run


def test_every_wrong_setting_is_refused_by_name_with_what_to_write(run: Run) -> None:
    lines = {}
    for flags, rule in WRONG.items():
        name = flags.partition("=")[0].removeprefix("--").replace("-", "_")
        lines[tuple(flags.split())] = (name, rule)
    for number, (text, told) in enumerate(FILES.items()):
        Path(f"{number}.toml").write_text(text)
        lines["--config", f"{number}.toml"] = told
    found = {}
    for arguments, (name, rule) in lines.items():
        got = run("check-config", *arguments)
        if got.exit_code != 1 or not any(
            line.startswith(f"{name}: ") and rule in line for line in got.output.splitlines()
        ):
            found[arguments] = got.output
    for variable, (name, rule) in VARIABLES.items():
        got = run("check-config", **{variable: "x"})
        if got.exit_code != 1 or not (got.output.startswith(f"{name}: ") and rule in got.output):
            found[variable,] = got.output
    assert found == {}


def test_serve_refuses_what_check_config_does_and_all_of_it_at_once(run: Run) -> None:
    flags = ("--max-links=0", "--log-level=loud", "--data-dir=/proc/x", "--listen=here")
    checked = run("check-config", *flags, LINKSCORE_NO_SUCH="1")
    served = run("serve", *flags, LINKSCORE_NO_SUCH="1")
    assert (served.exit_code, served.output) == (1, checked.output)
    names = [line.partition(":")[0] for line in served.output.splitlines()]
    assert names == ["no_such", "max_links", "log_level", "data_dir", "listen"]


def test_what_needs_an_extra_names_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {"http": "--json-listen=127.0.0.1:0", "postgres": "--data-dir=postgresql://h/d"}
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for extra, flag in flags.items():
        assert f"needs the {extra} extra: {install_command(extra)}" in run("check-config", flag).output


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(run: Run) -> None:
    Path("all.toml").write_text("max_links = 1\nmax_crawls = 1\nmax_depth = 16\nmemory_mb = 1000\n")
    given = {"LINKSCORE_MAX_LINKS": "2", "LINKSCORE_MAX_CRAWLS": "2"}
    got = run("check-config", "--config=all.toml", "--max-links=3", "--advertise=name.of.pod:1", **given)
    said = dict(line.split(" = ") for line in got.output.splitlines())
    assert [said[name] for name in ("max_links", "max_crawls", "max_depth")] == ["3", "2", "16"]
    assert said["max_body_bytes"] == str(Settings().max_body_bytes)
    assert said["site_memory_mb"] == "750"
    assert said["advertise"] == "name.of.pod:1", "others may know this server by a name that it does not"
    assert said.keys() == {f.name for f in fields(Settings)}


def test_a_database_that_does_not_answer_is_named_without_its_password(run: Run) -> None:
    pytest.importorskip("psycopg")
    for place, said in (("127.0.0.1:1/d", "refused"), ("h/d?x=1", "invalid URI query parameter")):
        got = run("check-config", f"--data-dir=postgresql://me:a:b@{place}")
        assert f"data_dir = postgresql://me:***@{place}\n" in got.output
        assert (got.exit_code, said in got.output, "a:b" in got.output) == (1, True, False)


def test_variables_that_kubernetes_sets_for_services_are_no_settings(run: Run) -> None:
    parts = ("SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_GRPC", "PORT", "PORT_7411_TCP_ADDR")
    services = ("LINKSCORE", "LINKSCORE_METRICS", "LINKSCORE_HEADLESS")
    given = {f"{service}_{part}": "tcp://10.0.0.1:7411" for service in services for part in parts}
    assert run("check-config", **given).exit_code == 0


def test_serve_help_has_every_setting_under_its_heading_in_two_screens(run: Run) -> None:
    text = run("serve", "--help").output
    for setting in fields(Settings):
        assert f"--{setting.name.replace('_', '-')} " in text
        assert f"\n{setting.metadata['group']}:\n" in text
    assert text.count("\n") < 100


def test_the_chart_takes_the_settings_there_are_and_no_others() -> None:
    names = json.loads(CHART.read_text())["properties"]["settings"]["propertyNames"]["enum"]
    assert names == [f"LINKSCORE_{f.name.upper()}" for f in fields(Settings)]


SECRET = "secret-token-of-32-characters-ab"
LINE = f"crawler-1 write news-*,forum sha256:{digest_of(SECRET)}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no token"),
        ("# only a comment\n", "has no token"),
        (f"{LINE}\n{SECRET}", "line 2: must be NAME ROLE CRAWLS sha256:HEX, as `linkscore token`"),
        (f"#crawlers-of-team-A\n{LINE}", "line 1: must be NAME"),
        (SECRET, "line 1: must be NAME"),
        (LINE.split()[-1], "line 1: must be NAME"),
        (LINE.replace("sha256:", ""), "line 1: must be NAME ROLE CRAWLS sha256:HEX"),
        (f"two words\n{LINE}", "line 1: must be NAME ROLE CRAWLS sha256:HEX"),
        (LINE.replace("write", "owner"), "line 1: the role must be read, write or admin"),
        (LINE.replace("news-*", "News"), "line 1: crawls must be patterns"),
        (LINE[:-1], "line 1: the digest must be 64"),
        (LINE.replace("crawler-1", "crawler/1"), "line 1: the name must be"),
        (f"{LINE}\n{LINE}", "line 2: a name or a token that is there already"),
        (f"{LINE} crawls=0", "line 1: after the digest may only stand crawls=NUMBER"),
        (f"{LINE} {SECRET}", "line 1: after the digest may only stand crawls=NUMBER"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_line_and_rule_without_its_text(
    text: str, told: str
) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        parse_tokens(text)
    assert SECRET not in str(caught.value)


def test_what_the_command_prints_is_a_line_of_the_file_for_the_token_it_shows() -> None:
    made = run_command("token", "--name", "crawler-1", "--role", "write", "--crawls", "news-*,forum")
    assert made.exit_code == 0
    token = made.stderr.split()[-1]
    assert len(token) >= 43  # 256 bits in base64
    assert token not in made.stdout
    assert parse_tokens(made.stdout) == {
        digest_of(token): Caller("crawler-1", Role.WRITE, ("news-*", "forum"))
    }


def test_the_command_writes_the_token_alone_into_a_file_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "crawler.token"
    asked = ("token", "--name", "crawler-1", "--role", "write", "--out", str(file))
    made = run_command(*asked)
    assert (made.exit_code, made.stderr) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(parse_tokens(made.stdout)) == [digest_of(file.read_text().strip())]
    again = run_command(*asked)
    assert again.exit_code == 2
    assert f"--out: no new file {file}: File exists" in again.output.replace("\n", " ")


@pytest.mark.parametrize("wrong", [("--name", "a b"), ("--role", "owner"), ("--crawls", "News")])
def test_the_command_makes_no_line_that_a_server_would_refuse(wrong: tuple[str, str]) -> None:
    given = {"--name": "a", "--role": "read", "--crawls": "*"} | dict([wrong])
    made = run_command("token", *(part for option in given.items() for part in option))
    assert made.exit_code == 2
    assert wrong[0] in made.output
