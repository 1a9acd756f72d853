"""Online learners and bandits."""
