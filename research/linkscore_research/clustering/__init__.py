"""How well page clusterers find the templates of labelled sites: ``python -m linkscore_research cluster``."""

from linkscore_research.clustering.quality import Precision, Quality, fold_precision
from linkscore_research.clustering.report import Figures, measure, run_cluster_report
from linkscore_research.clustering.sample import LabelledSample, draw_sample

__all__ = [
    "Figures",
    "LabelledSample",
    "Precision",
    "Quality",
    "draw_sample",
    "fold_precision",
    "measure",
    "run_cluster_report",
]
