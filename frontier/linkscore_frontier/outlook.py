"""What buckets are worth, and where new URLs belong, while linkscore says nothing of either."""

from __future__ import annotations

from collections import Counter, OrderedDict

from linkscore.outages import MAX_SHAPES, TRUST, LinkShapes, url_shapes


class Outlook:
    """What a store learns from the URLs it keeps, for the time when linkscore is away.

    The value of a bucket fades with each URL that is taken from it, or of the shape of its URLs: slowly if
    many of these were fetched before linkscore was away. It counts less where fetches of that shape failed:
    of what linkscore has not seen yet much is no page at all.

    Attributes
    ----------
    is_away
        Whether values are not renewed.
    """

    def __init__(self) -> None:
        self._is_away = False
        self._taken: Counter[int] = Counter()
        self._since: Counter[int] = Counter()
        self._since_of_shape: Counter[str] = Counter()
        self._pages_before: dict[str, int] = {}
        self._shape_of: dict[int, str] = {}
        self._fetched: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._shapes = LinkShapes()

    @property
    def is_away(self) -> bool:
        """Whether values are not renewed."""
        return self._is_away

    @is_away.setter
    def is_away(self, is_away: bool) -> None:
        if is_away and not self._is_away:
            self._pages_before = {shape: pages for shape, (pages, _) in self._fetched.items()}
        elif not is_away:
            self._taken += self._since
            self._since.clear()
            self._since_of_shape.clear()
        self._is_away = is_away

    def placed(self, url: str, bucket: int, name: str, value: float, *, is_new: bool) -> None:
        """Note the bucket of a URL that linkscore scored; a new one says where those of its shape belong."""
        if is_new:  # nothing is taken from buckets where others are found again
            self._shapes.learn(url, name, value)
        self._shape_of[bucket] = url_shapes(url)[1]

    def guess(self, url: str) -> str:
        """Return the name of the bucket of the last new URL of this shape; empty if none was seen."""
        found = self._shapes.guess(url)
        return found[0] if found else ""

    def fetched(self, url: str, *, is_page: bool) -> None:
        """Note a URL that was fetched."""
        shape = url_shapes(url)[1]
        pages, failures = self._fetched.pop(shape, (0, 0))
        self._fetched[shape] = (pages + is_page, failures + (not is_page))
        while len(self._fetched) > MAX_SHAPES:
            self._fetched.popitem(last=False)

    def taken(self, bucket: int) -> None:
        """Note a URL that was taken from a bucket."""
        if not self._is_away:
            self._taken[bucket] += 1
            return
        self._since[bucket] += 1
        self._since_of_shape[self._shape_of.get(bucket, "")] += 1

    def worth(self, bucket: int, value: float) -> float:
        """Return what is left of the value of a bucket."""
        if not self._is_away or value <= 0:
            return value
        shape = self._shape_of.get(bucket, "")
        pages, failures = self._fetched.get(shape, (0, 0))
        odds = (1 + pages) / (1 + pages + failures)
        holds = TRUST * (1 + max(self._taken[bucket], self._pages_before.get(shape, 0)))
        since = max(self._since[bucket], self._since_of_shape[shape])
        return value * odds * holds / (holds + since)
