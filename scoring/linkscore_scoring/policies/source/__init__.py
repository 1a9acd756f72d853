"""SOUrCe (Xu, Gao and Callan 2018): clusters valued by structure, links by the cluster they lead to."""

from linkscore_scoring.policies.source.source_target import SourceTarget, SourceTargetParams
from linkscore_scoring.policies.source.source_ucc import SourceUcc, SourceUccParams

__all__ = ["SourceTarget", "SourceTargetParams", "SourceUcc", "SourceUccParams"]
