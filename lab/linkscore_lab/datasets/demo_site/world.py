"""The community behind the demonstration site: members, threads, posts and tags, all drawn from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from linkscore_lab.datasets.demo_site.words import TOPICS, Topic, paragraph, slug, title

POSTS_PER_PAGE = 12
_GIVEN = (
    "anna",
    "ben",
    "carla",
    "dirk",
    "elif",
    "femi",
    "greta",
    "hugo",
    "ines",
    "jonas",
    "kaito",
    "lena",
    "mara",
)
_HANDLE = (
    "fox",
    "owl",
    "pine",
    "river",
    "stone",
    "cloud",
    "spark",
    "wheel",
    "maple",
    "comet",
    "harbor",
    "ember",
)


@dataclass(slots=True)
class Member:
    """A registered user and the posts it wrote, as (thread, position in it)."""

    name: str
    number: int
    posts: list[tuple[Thread, int]] = field(default_factory=list)


@dataclass(slots=True)
class Thread:
    """A discussion; `authors` has one member for each post, `first_post` is the number of its first post."""

    number: int
    topic: Topic
    title: str
    kind: str
    tags: tuple[str, ...]
    authors: tuple[Member, ...]
    first_post: int
    views: int

    @property
    def path(self) -> str:
        """URL path of its first page."""
        return f"/t/{self.number}-{slug(self.title)}"

    @property
    def pages(self) -> int:
        """Pages it is cut into."""
        return -(-len(self.authors) // POSTS_PER_PAGE)


class World:
    """Everything the pages show.

    Parameters
    ----------
    seed
        Same seed, same community.
    n_threads, n_members
        Size of the community; at least one thread a topic.
    """

    def __init__(self, seed: int, n_threads: int = 600, n_members: int = 300) -> None:
        self.seed = seed
        self.members = [Member(_name(number), number) for number in range(n_members)]
        self.threads: list[Thread] = []
        self._posts: dict[int, list[str]] = {}
        rng = random.Random(f"{seed} world")
        first_post = 1
        for number in range(1, n_threads + 1):
            thread = self._thread(rng, number, first_post)
            first_post += len(thread.authors)
            self.threads.append(thread)
        self.by_name = {member.name: member for member in self.members}
        self.tags = self._by_tag()

    def board(self, topic: Topic) -> list[Thread]:
        """Return the threads about `topic`, newest first."""
        return [thread for thread in reversed(self.threads) if thread.topic is topic]

    def post(self, thread: Thread, position: int) -> list[str]:
        """Return the paragraphs of one post; written when first asked for."""
        number = thread.first_post + position
        if number not in self._posts:
            rng = random.Random(f"{self.seed} post {number}")
            n_paragraphs = rng.choice((1, 1, 2, 3))
            self._posts[number] = [
                paragraph(rng, thread.topic, rng.randint(1, 4)) for _ in range(n_paragraphs)
            ]
        return self._posts[number]

    def biography(self, member: Member) -> str:
        """Return what a member says about itself."""
        rng = random.Random(f"{self.seed} member {member.number}")
        return paragraph(rng, rng.choice(TOPICS), rng.randint(2, 5))

    def _thread(self, rng: random.Random, number: int, first_post: int) -> Thread:
        topic = TOPICS[number - 1] if number <= len(TOPICS) else rng.choice(TOPICS)
        posts = min(90, 1 + int(rng.paretovariate(0.9) * 2.5))
        authors = tuple(self._author(rng) for _ in range(posts))
        kind = rng.choices(("talk", "question", "poll", "gallery"), (6, 3, 1, 1))[0]
        tags = tuple(rng.sample(topic.tags, rng.randint(1, 3)))
        views = posts * rng.randint(8, 90)
        thread = Thread(number, topic, title(rng, topic), kind, tags, authors, first_post, views)
        for position, author in enumerate(authors):
            author.posts.append((thread, position))
        return thread

    def _author(self, rng: random.Random) -> Member:
        """Few write much: the square of a uniform draw favours the first members."""
        return self.members[int(rng.random() ** 2 * len(self.members))]

    def _by_tag(self) -> dict[str, list[Thread]]:
        tags: dict[str, list[Thread]] = {}
        for thread in self.threads:
            for tag in thread.tags:
                tags.setdefault(tag, []).append(thread)
        return tags


def _name(number: int) -> str:
    given = _GIVEN[number % len(_GIVEN)]
    handle = _HANDLE[number // len(_GIVEN) % len(_HANDLE)]
    return f"{given}_{handle}{number}"
