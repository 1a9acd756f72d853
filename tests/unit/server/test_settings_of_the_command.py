"""Every setting is a flag, a variable and a key of the file; what cannot work is refused by name."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

from click.testing import CliRunner, Result

from linkscore_cli.main import main
from linkscore_server.settings import Settings


def run(*arguments: str, **environment: str) -> Result:
    clean = {name: None for name in os.environ if name.startswith("LINKSCORE_")}
    return CliRunner(env=clean | environment).invoke(main, arguments)


def test_serve_help_has_every_setting_under_its_heading_in_two_screens() -> None:
    text = run("serve", "--help").output
    for setting in fields(Settings):
        assert f"--{setting.name.replace('_', '-')} " in text
        assert f"\n{setting.metadata['group']}:\n" in text
    assert text.count("\n") < 100


def test_check_config_prints_the_settings_in_force(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('max_links = 1\nmax_depth = 2\ndata_dir = "x"\n')
    got = run(
        "check-config",
        "--config",
        str(file),
        "--max-links",
        "3",
        LINKSCORE_MAX_LINKS="2",
        LINKSCORE_MAX_DEPTH="5",
    )
    assert got.exit_code == 0
    assert "max_links = 3" in got.output
    assert "max_depth = 5" in got.output
    assert "data_dir = 'x'" in got.output


def test_check_config_names_all_problems_at_once(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("colour = 1\nmax_links = 0\n")
    got = run(
        "check-config",
        "--config",
        str(file),
        "--log-level",
        "loud",
        LINKSCORE_NO_SUCH="1",
        LINKSCORE_DRAIN_S="x",
    )
    assert got.exit_code == 1
    for name in ("colour", "max_links", "log_level", "no_such", "drain_s"):
        assert f"{name}: " in got.output
