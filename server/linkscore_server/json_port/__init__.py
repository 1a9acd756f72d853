"""The calls of the contract as JSON over HTTP, at a port of their own: Connect's unary protocol.

`http` is the port, `calls` what a request means, `annex` how both become part of a server. `openapi.json`
describes the calls; `make gen` writes it from the contract.
"""
