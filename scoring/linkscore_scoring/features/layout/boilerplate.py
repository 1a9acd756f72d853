"""What of a page is around its content: menus, sidebars, footers, by their tags and by words in classes."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate

from linkscore_scoring.features.layout.tree import PageTree

MAX_SHARE = 0.4
_TAGS = frozenset(("nav", "aside", "dialog"))
_EDGE_TAGS = frozenset(("header", "footer"))
_CONTENT_TAGS = frozenset(("article", "section", "main", "li", "td"))
_EDGE_DEPTH = 6
_WORDS = re.compile(
    r"side-?_?(?:bar|panel|nav|box)|bread-?_?crumb|nav(?:bar|igation|list|menu)|drop-?_?down|off-?_?canvas|masthead|tag-?_?cloud|widget"
    r"|(?<![a-z])(?:nav|menu|submenu|crumbs|toolbar|related|popular|trending|recent|login|signin|search|cookie|cookies|modal|popup|advert|ads"
    r"|tooltip|copyright|blogroll|jump|jumpbox|jumpto|skip)(?![a-z])"
)
_EDGE_WORDS = re.compile(
    r"(?<![a-z])(?:page|site|main|global|top)?-?_?(?:header|footer|head|foot|bottom|topbar)(?![a-z])"
)
_STATE = re.compile(r"(?:^|[-_])(?:has|with|without|no|show|js|is)(?:[-_]|$)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def boilerplate(tree: PageTree) -> list[bool]:
    """Say of each element whether it is around the content, itself or by an element around it.

    An element that holds more than `MAX_SHARE` of the text is content whatever its name. Headers and footers
    count only near the root and outside of articles, sections and list items.
    """
    chars = [0, *accumulate(map(len, tree.texts))]
    most = MAX_SHARE * chars[-1]
    found = [False] * len(tree)
    depth = [0] * len(tree)
    inside = [False] * len(tree)
    for node in range(1, len(tree)):
        parent, step = tree.parents[node], tree.steps[node]
        depth[node] = depth[parent] + 1
        inside[node] = inside[parent] or step.name in _CONTENT_TAGS
        if found[parent]:
            found[node] = True
        elif (
            step.name in _TAGS
            or _named(step.classes)
            or (
                not inside[node]
                and depth[node] <= _EDGE_DEPTH
                and (step.name in _EDGE_TAGS or _edge(step.classes))
            )
        ):
            found[node] = chars[tree.last_texts[node]] - chars[tree.first_texts[node]] <= most
    return found


@lru_cache(maxsize=20_000)
def _named(classes: str) -> bool:
    return _says(classes, _WORDS)


@lru_cache(maxsize=20_000)
def _edge(classes: str) -> bool:
    return _says(classes, _EDGE_WORDS)


def _says(classes: str, words: re.Pattern[str]) -> bool:
    tokens = (_CAMEL.sub("-", token).lower() for token in classes.split())
    return any(words.search(token) and not _STATE.search(token) for token in tokens)
