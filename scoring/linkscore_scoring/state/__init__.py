"""State by declaration: what a class keeps, as plain values for the disk and back.

Plain values are dict, list, tuple, str, int, float, bool, bytes and None: what msgpack can write. Annotations
say how a value is written, so a class lists what it keeps and needs no code for it:

>>> class Visits(Stateful):
...     count: Stored[int]
...     _latest: Stored[Flat[dict[int, tuple[float, bool]]]]
...
...     def __init__(self) -> None:
...         self.count, self._latest = 0, {}
>>> visits = Visits()
>>> visits.count, visits._latest = 2, {7: (0.5, True), 8: (0.0, False)}
>>> visits.to_state()
{'count': 2, 'latest': [[7, 0.5, True], [8, 0.0, False]]}
>>> again = Visits()
>>> again.load_state(visits.to_state())
>>> again._latest == visits._latest
True
>>> again.load_state({"count": "two", "latest": []})
Traceback (most recent call last):
...
linkscore_scoring.errors.CorruptState: visits: field 'count': want int, got 'two'

How each type is written:

=================================== ======================================================================
``int float bool str bytes None``   as it is; ``float`` takes whole numbers too
``Any``                             as it is, and not looked at: plain values only
``list tuple deque``                list; a deque that is loaded keeps its ``maxlen``
``set frozenset``                   sorted list
``dict Counter``, keys are text     dict
``dict Counter``, any other keys    list of ``[key, value]``; of keys alone if the values are None
``OrderedDict``                     the same list whatever the keys are: their order is part of the state
``Flat[dict[K, V]]``                list of ``[*key, *value]``; a value may be a tuple, list or dataclass
dataclass                           dict by field; ``Flat[...]`` makes it a list of its fields
NamedTuple                          list
enum                                its value
array                               shape, dtype and bytes (`pack_array`); ``Sparse[...]`` as `pack_sparse`
a class with ``to_state``           what that returns; read in place by ``load_state``, else by ``from_state``
=================================== ======================================================================

A dict of parts that can only be loaded in place is loaded part by part. A name on the disk is the attribute's
without leading underscore, unless ``Annotated[..., stored_as("name")]`` says another. Attributes that share a
name are written as one list; a dict with two names as two lists, its keys and its values.

Of the files here, `declaration` has the annotations, `codecs` a codec for each type of value and `records`
those of classes, `arrays` packs arrays, and `stateful` is what classes and callers use.
"""

from linkscore_scoring.state.arrays import State, pack_array, pack_sparse, unpack_array, unpack_sparse
from linkscore_scoring.state.declaration import Flat, Sparse, Stored, Transient, stored_as
from linkscore_scoring.state.opaque import Opaque
from linkscore_scoring.state.stateful import Stateful, digest, from_state, load_state, to_state

__all__ = [
    "Flat",
    "Opaque",
    "Sparse",
    "State",
    "Stateful",
    "Stored",
    "Transient",
    "digest",
    "from_state",
    "load_state",
    "pack_array",
    "pack_sparse",
    "stored_as",
    "to_state",
    "unpack_array",
    "unpack_sparse",
]
