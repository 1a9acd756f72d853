"""Experiment, sites of a crawl divided over two policies to see which does better."""

from linkscore_scoring.policies.experiment.policy import Experiment, ExperimentParams

__all__ = ["Experiment", "ExperimentParams"]
