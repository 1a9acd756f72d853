"""The services of the contract: each checks a request, asks the engine, converts the answer.

One file a service with its conversions (`scoring` has `pages`, `results` and `revisits` beside it), what
several say in `messages`, who may make which call, and exceptions to status, in `contract`.
"""
