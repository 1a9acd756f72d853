"""Long runs that try to break a server: `make fuzz`, `soak`, `kills`, `damage`, `restarts`.

Each is a command with a size; a small one of each runs in `make test` or `make slow`.
"""
