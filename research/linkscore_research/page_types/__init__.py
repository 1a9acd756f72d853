"""Training of the page type classifiers: labelled sites in, weights and figures out."""

from linkscore_research.page_types.command import run_training
from linkscore_research.page_types.examples import Example, find_sites, read_examples
from linkscore_research.page_types.generated import generated_examples, generated_pages
from linkscore_research.page_types.url_regexes import measure_regexes, run_regexes

__all__ = [
    "Example",
    "find_sites",
    "generated_examples",
    "generated_pages",
    "measure_regexes",
    "read_examples",
    "run_regexes",
    "run_training",
]
