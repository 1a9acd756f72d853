"""Online classifiers, found by name."""

from __future__ import annotations

from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.learners.classifiers.arow import Arow
from linkscore_scoring.learners.classifiers.base import Classifier, Features
from linkscore_scoring.learners.classifiers.ftrl import Ftrl
from linkscore_scoring.learners.classifiers.moa_naive_bayes import MoaNaiveBayes
from linkscore_scoring.learners.classifiers.multinomial_nb import MultinomialNb

CLASSIFIERS: dict[str, type[Classifier]] = {
    kind.name: kind
    for kind in (
        Ftrl,
        Arow,
        MultinomialNb,
        MoaNaiveBayes,
    )
}


def classifier_named(name: str) -> type[Classifier]:
    """Return the classifier class of this name.

    Raises
    ------
    InvalidParams
        If no classifier has the name.
    """
    if name not in CLASSIFIERS:
        names = ", ".join(sorted(CLASSIFIERS))
        raise InvalidParams(f"must be one of {names}, got {name!r}", field="classifier")
    return CLASSIFIERS[name]


__all__ = ["CLASSIFIERS", "Classifier", "Features", "classifier_named"]
