"""What every client must do, whatever its language: scenarios played against a scripted server.

``python -m linkscore_lab.conformance COMMAND`` starts a *driver*, a small program that has the client, and
plays every scenario of `scenarios.json` with it. The server (`fake`) answers as told and keeps what it was
asked. The driver reads one JSON object a line and answers with one.

A command has `call`, the arguments of that call, and perhaps `timeout_ms` (deadline of this call alone) or
`cancel_after_ms` (give it up after so long). An answer is ``{"ok": {...}}`` or ``{"error": {...}}``:

==============  ==================================================  =========================================
`call`          arguments                                           `ok`
==============  ==================================================  =========================================
connect         target; token, token_file, timeout_ms; ca, cert,    {}, without asking the server; what was
                key (paths of PEM files: TLS)                       connected before is closed
ensure          crawl; policy (a name)                              {}
ingest          crawl, pages: url, final_url, status, body,         links: a list for each page, of url,
                body_bytes (make a body of so many), ticket         score, bucket, value, ticket, usable,
                                                                    in_scope
failed          crawl, url, status, error, ticket                   {}
rank            crawl, buckets                                      values, by bucket
reward          crawl, url, ticket, worth                           {}
close           -                                                   {}
==============  ==================================================  =========================================

What is left out is left to the client. Tickets are written as base64url without padding. An error has `code`
(the number of the gRPC status), `reason`, `retry_after_ms`, `violations` (field, description) and `metadata`.
"""

from linkscore_lab.conformance.scenarios import SCENARIOS, Outcome, play

__all__ = ["SCENARIOS", "Outcome", "play"]
