"""Pure link-scoring library: features, site models, learners, policies. No grpc, sockets, files, clock or environment."""
