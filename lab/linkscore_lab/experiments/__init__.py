"""Measurements behind the docs, one room each; every one is a command or a module that can be run."""

# Import a room: each needs other libraries.
__all__: list[str] = []
