"""gRPC servicers: check the request, ask the engine, convert the answer."""
