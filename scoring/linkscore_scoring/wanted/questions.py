"""Queries that are questions: which of their words tell one page from another."""

from __future__ import annotations

from linkscore_scoring.features.words import words_of

FEW_WORDS = 3
"""Distinct words up to which a query is no question: as few as most tags of stored sites have. Chosen, not
measured."""

# The stop list of Snowball for English, with the modal verbs that it leaves to its user
# (https://snowballstem.org/algorithms/english/stop.txt).
_FUNCTION_WORDS = frozenset(
    words_of(
        "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she "
        "her hers herself it its itself they them their theirs themselves what which who whom this that "
        "these those am is are was were be been being have has had having do does did doing would should "
        "could ought can will shall may might must a an the and but if or because as until while of at by "
        "for with about against between into through during before after above below to from up down in "
        "out on off over under again further then once here there when where why how all any both each "
        "few more most other some such no nor not only own same so than too very"
    )
)


def is_question(text: str) -> bool:
    """Say whether a query is a sentence, which few pages answer: no name of a topic is, however long.

    Examples
    --------
    >>> [is_question(text) for text in ("How do I repair a kayak?", "high energy plasma thrower", "to be")]
    [True, False, False]
    """
    words = set(words_of(text))
    return len(words) > FEW_WORDS and not words.isdisjoint(_FUNCTION_WORDS)


def telling_words(text: str) -> list[str]:
    """Return the words of a query, of a question without those that stand in every English sentence.

    How rare a word is says the same, but only after many pages.

    Examples
    --------
    >>> telling_words("How do I repair a kayak?"), telling_words("repair of kayaks")
    (['repair', 'kayak'], ['repair', 'of', 'kayak'])
    >>> telling_words("To be, or not to be")
    ['to', 'be', 'or', 'not', 'to', 'be']
    """
    words = words_of(text)
    told = [word for word in words if word not in _FUNCTION_WORDS] if is_question(text) else []
    return told or words
