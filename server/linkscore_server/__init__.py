"""The server: gRPC services over crawls whose events it makes durable.

Rooms, each reading only those before it: `settings`, `storage` (event log, snapshots, visits),
`observability` (metrics, logs), `crawls` (registry, actors), `browse_logs` (import, mining), `grpc`
(services, conversion, errors), `app` (all of it, started and drained). `plugins` finds policies of other
packages, `commands` is the part of the command line that runs with the server.
"""
