"""Link scoring, pure: features, site models, learners, policies. No grpc, files, clock or environment."""
