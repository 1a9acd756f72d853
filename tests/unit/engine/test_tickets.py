"""Tickets: small, bound to a crawl, and worth nothing when tampered with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.engine.links import TICKET_BYTES, VERSION, Ticket, TicketBook

BOOK = TicketBook(b"key", "crawl")


def written(ticket: Ticket) -> bytes:
    return BOOK.write_all(ticket, [ticket.link_path])[0]


HASHES = st.integers(0, 2**64 - 1)
TICKETS = st.builds(
    Ticket,
    HASHES,
    HASHES,
    HASHES,
    st.integers(-2, 2**31 - 1),
    st.integers(0, 65_535),
)


@given(TICKETS, st.integers(0, TICKET_BYTES * 8 - 1))
def test_a_ticket_is_read_as_it_was_written_and_with_a_flipped_bit_is_none(ticket: Ticket, bit: int) -> None:
    raw = bytearray(written(ticket))
    assert BOOK.read(bytes(raw)) == ticket
    assert len(raw) == TICKET_BYTES <= 64
    raw[bit // 8] ^= 1 << bit % 8
    assert BOOK.read(bytes(raw)) is None


@given(st.binary(max_size=100))
def test_other_bytes_are_no_ticket(raw: bytes) -> None:
    assert BOOK.read(raw) is None
    assert BOOK.read(bytes([VERSION]) + raw) is None
