"""Training of the page type classifiers: labelled sites in, weights and figures out."""

from linkscore_research.page_types.command import run_training
from linkscore_research.page_types.examples import Example, find_sites, read_examples
from linkscore_research.page_types.generated import generated_examples, generated_pages

__all__ = [
    "Example",
    "find_sites",
    "generated_examples",
    "generated_pages",
    "read_examples",
    "run_training",
]
