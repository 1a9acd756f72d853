"""Fetches with the session ids of their site taken out of every identity, so that one page is one page."""

from __future__ import annotations

from dataclasses import replace

from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.site.session_ids import SessionIds


def session_free(event: PageFetched, sessions: SessionIds) -> PageFetched:
    """Return a fetch whose identities carry no session id; URLs stay as they came. Cost O(characters).

    Identities that were remembered before a name was known to be of session ids stay as they were.
    """
    requested = sessions.strip(event.requested_key)
    features = event.features and _features(event.features, sessions)
    if requested == event.requested_key and features is event.features:
        return event
    return replace(event, requested_key=requested, features=features)


def _features(features: PageFeatures, sessions: SessionIds) -> PageFeatures:
    own = sessions.strip(features.key), sessions.strip(features.canonical_key)
    keys = [sessions.strip(key) for key in features.links.keys]
    if keys == features.links.keys and own == (features.key, features.canonical_key):
        return features
    links = replace(features.links, keys=keys)
    return replace(features, key=own[0], canonical_key=own[1], links=links)
