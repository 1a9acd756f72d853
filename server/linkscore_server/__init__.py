"""gRPC servicers, storage, metrics, command line."""
