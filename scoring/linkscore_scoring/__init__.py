"""Pure link-scoring library: features, site models, learners, policies. No grpc, files, clock or environment."""
