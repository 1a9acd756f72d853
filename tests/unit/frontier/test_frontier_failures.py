"""`linkscore frontier` names a file that it cannot use, and starts nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import run


def test_a_token_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xcc\xfe\n")
    got = run("frontier", "--target-token-file", file)
    assert isinstance(got.exception, SystemExit)
    assert (got.exit_code in (1, 2), str(file) in got.output) == (True, True), got.output


@pytest.mark.parametrize("content", [b"", b"no certificate", b"\xcc\xfe"])
def test_a_certificate_that_is_none_is_named_before_anything_starts(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    file.write_bytes(content)
    got = run("frontier", "--tls-cert", file, "--tls-key", file)
    assert isinstance(got.exception, SystemExit)
    assert (got.exit_code in (1, 2), got.output.count("\n")) == (True, 1), got.output
    assert f"{file} and {file} must be a certificate and its key in PEM" in got.output
