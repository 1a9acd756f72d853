"""Experiments: what measures papers or compares ideas. Nothing of the product imports it."""

# Import a room: each needs other libraries.
__all__: list[str] = []
