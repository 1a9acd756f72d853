"""Fetches with the session ids of their site taken out of every URL, so that one page is one page."""

from __future__ import annotations

from dataclasses import replace

from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.urls.session_ids import SessionIds


def session_free(event: PageFetched, sessions: SessionIds) -> PageFetched:
    """Return a fetch whose URLs and identities carry no session id, the same one if there is none.

    Answers go by the rows of links, so a crawler's URLs stay as they are. What was remembered before a name
    was known to be of session ids keeps its identity. Cost O(characters).
    """
    requested, url = sessions.strip(event.requested_key), sessions.strip(event.url)
    features = _features(event.features, sessions) if event.features is not None else None
    if (requested, url) == (event.requested_key, event.url) and features is event.features:
        return event
    return replace(event, url=url, requested_key=requested, features=features)


def _features(features: PageFeatures, sessions: SessionIds) -> PageFeatures:
    own = sessions.strip(features.key), sessions.strip(features.canonical_key)
    keys = [sessions.strip(key) for key in features.links.keys]
    if keys == features.links.keys and own == (features.key, features.canonical_key):
        return features
    links = replace(features.links, keys=keys, urls=list(map(sessions.strip, features.links.urls)))
    url = sessions.strip(features.url)
    return replace(features, url=url, key=own[0], canonical_key=own[1], links=links)
