"""The server: gRPC services over crawls whose events it makes durable.

Rooms: `store` (events, states), `crawls` (registry, actors), `browse_logs` (import, mining), `services`
(requests and answers), `front` (who answers: this process or another one), `observability` (metrics, logs).
`settings`, `door` (every call comes in by it) and `app` (all of it, started and drained) put them together;
`commands` is the part of the command line that runs with the server.
"""
