"""gRPC: services check a request, ask the engine, convert the answer.

One module a service (`scoring`, `sites`, `crawls`, `browse_logs`), conversion in `convert`, what happens
around every call in `interceptors`, exceptions to status in `errors`, how much is taken on at a time in
`admission`, how pages are read in turn in `reading`. `import grpc` means the library here too: imports are
absolute.
"""
