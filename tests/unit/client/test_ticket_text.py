"""Tickets as text."""

import pytest

from linkscore import ticket_bytes, ticket_text


@pytest.mark.parametrize("ticket", [b"", b"a", b"ab", b"abc", bytes(range(192, 256))])
def test_a_ticket_comes_back_from_its_text(ticket: bytes) -> None:
    text = ticket_text(ticket)
    assert ticket_bytes(text) == ticket
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize("text", ["+/A", "a b", "Zm8=", "ä"])
def test_what_is_no_ticket_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be base64url"):
        ticket_bytes(text)
