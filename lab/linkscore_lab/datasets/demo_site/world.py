"""The community behind the demonstration site: members, threads, posts and tags, all drawn from one seed.

What members write comes from a small word model: a sentence is a frame with slots, a slot is filled from
the words of a topic or from common ones. Frames times words give millions of sentences, so two posts do not
share a text by chance.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Topic:
    """The words of one board."""

    name: str
    things: tuple[str, ...]
    actions: tuple[str, ...]
    tags: tuple[str, ...]


def _topic(name: str, things: str, actions: str, tags: str) -> Topic:
    return Topic(name, *(tuple(words.split(", ")) for words in (things, actions, tags)))


TOPICS = (
    _topic(
        "Bicycles",
        "rear hub, steel frame, brake caliper, chain ring, headset, dropper post, wheel "
        "rim, bottom bracket, tubeless tyre",
        "true, grease, swap, torque, straighten, rebuild",
        "gears, brakes, wheels, touring, commuting",
    ),
    _topic(
        "Sourdough",
        "starter, rye loaf, banneton, dutch oven, crumb, levain, crust, proofing box, baguette dough",
        "feed, fold, score, proof, shape, bake",
        "hydration, flour, ovens, crust, rye",
    ),
    _topic(
        "Woodworking",
        "dovetail joint, jointer plane, oak board, tenon, band saw, chisel edge, "
        "workbench top, dust hose, walnut slab",
        "sand, clamp, plane, glue, chisel, square up",
        "joinery, finishes, planes, saws, workbench",
    ),
    _topic(
        "Amateur radio",
        "dipole, antenna tuner, coax run, balun, repeater, transceiver, ground plane, "
        "SWR meter, vertical mast",
        "solder, tune, ground, measure, shield, match",
        "antennas, shortwave, portable, digital-modes, coax",
    ),
    _topic(
        "Gardening",
        "raised bed, tomato trellis, compost heap, drip line, seedling tray, cold frame, "
        "rain barrel, hedge, potting mix",
        "prune, mulch, water, transplant, thin out, feed",
        "vegetables, compost, pests, roses, greenhouse",
    ),
    _topic(
        "Photography",
        "fifty millimetre lens, film scanner, tripod head, flash trigger, developer "
        "tank, sensor, light meter, enlarger",
        "clean, calibrate, expose, scan, mount, meter",
        "film, lenses, portraits, night, darkroom",
    ),
    _topic(
        "Coffee",
        "burr grinder, portafilter, moka pot, gooseneck kettle, drip cone, espresso "
        "shot, steam wand, group gasket",
        "dial in, descale, tamp, steam, pour, weigh",
        "espresso, grinders, filter, roasting, water",
    ),
    _topic(
        "Hiking",
        "ridge trail, tent fly, alcohol stove, trekking pole, water filter, sleeping "
        "pad, map case, mountain hut",
        "patch, pack, waterproof, pitch, dry out, carry",
        "ultralight, huts, winter, boots, navigation",
    ),
    _topic(
        "Beekeeping",
        "brood frame, queen cell, smoker, nectar flow, hive stand, varroa board, honey super, swarm box",
        "inspect, split, feed, requeen, treat, extract",
        "swarms, varroa, honey, winter, queens",
    ),
    _topic(
        "Astronomy",
        "refractor, dew heater, star chart, equatorial mount, eyepiece, guide scope, finder, primary mirror",
        "collimate, align, balance, stack, cool down, track",
        "planets, nebulae, mounts, eyepieces, dark-sky",
    ),
)

_FRAMES = (
    "I tried to {act} the {thing} {time} and it {result}.",
    "Has anyone managed to {act} a {adj} {thing} without {trouble}?",
    "After {number} {unit} the {thing} started to {symptom}, so I had to {act} the {thing2} as well.",
    "My {person} told me to {act} the {thing} first, which {result}.",
    "The {adj} {thing} I bought {time} needs more care than the {thing2}.",
    "For {money} you get a {adj} {thing}, but do not expect the {thing2} to last.",
    "What worked for me was to {act} it {manner} and leave the {thing} alone for {number} {unit}.",
    "My {person} swears by a {adj} {thing2}; I am not convinced, because mine {result}.",
    "You could also {act} the {thing2} {manner}, then check whether the {thing} still {symptoms}.",
    "There is a {adj} photo of the {thing} in my album, taken {time} before I could {act} it.",
    "If the {thing} {symptoms} again, {act} the {thing2} and wait {number} {unit}.",
    "I measured {number} {unit} between two attempts to {act} the {thing}, and both times it {result}.",
    "Nobody mentioned {trouble} when I asked about the {adj} {thing2} {time}.",
    "The manual says to {act} the {thing} every {number} {unit}, yet my {person} never did.",
)
_COMMON = {
    "adj": "cheap, second-hand, noisy, rusty, bulky, stubborn, lightweight, home-made, worn, brand new",
    "time": "last winter, on Sunday, two weeks ago, before the trip, this spring, after the rain",
    "result": "worked at once, made things worse, held for a month, cracked, surprised me",
    "trouble": "losing a screw, a mess on the floor, special tools, the usual smell, breaking the seal",
    "symptom": "wobble, leak, smell odd, rattle, drift, dry out, overheat",
    "symptoms": "wobbles, leaks, smells odd, rattles, drifts, dries out, overheats",
    "person": "neighbour, brother-in-law, club mate, old teacher, daughter, colleague",
    "manner": "by hand, very slowly, with warm water, in small steps, from the back, twice a day",
    "unit": "minutes, hours, days, weeks, attempts",
    "money": "twenty euros, forty dollars, the price of a meal, next to nothing, a week's pay",
}
_TITLES = (
    "How do you {act} a {adj} {thing}?",
    "{thing_cap} {symptoms} after {number} {unit}",
    "Show us your {adj} {thing}",
    "Is a {adj} {thing} worth {money}?",
    "{thing_cap} or {thing2}: what to {act} first",
    "Help, my {thing} {symptoms}",
)
_SLOT = re.compile(r"\{(\w+)\}")
_WORDS = {slot: tuple(words.split(", ")) for slot, words in _COMMON.items()}


def sentence(rng: random.Random, topic: Topic) -> str:
    """Return one sentence about `topic`."""
    return _fill(rng.choice(_FRAMES), rng, topic)


def title(rng: random.Random, topic: Topic) -> str:
    """Return the title of a thread about `topic`."""
    return _fill(rng.choice(_TITLES), rng, topic)


def paragraph(rng: random.Random, topic: Topic, sentences: int) -> str:
    """Return `sentences` sentences joined by blanks."""
    return " ".join(sentence(rng, topic) for _ in range(sentences))


def slug(text: str) -> str:
    """Return `text` as a URL segment: lower-case words joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _fill(frame: str, rng: random.Random, topic: Topic) -> str:
    thing, thing2 = rng.sample(topic.things, 2)
    words = {
        "act": rng.choice(topic.actions),
        "thing": thing,
        "thing2": thing2,
        "thing_cap": thing[0].upper() + thing[1:],
        "number": str(rng.randint(2, 99)),
    }
    return _SLOT.sub(lambda slot: words.get(slot[1]) or rng.choice(_WORDS[slot[1]]), frame)


# Of a thread, as forums have it: 10 to 25. Chosen, not measured.
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
    """Everything the pages show."""

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
