"""TPM (Vidal 2006): a target page map, trees compared, URL shapes of a path, and the policy that walks it."""

from linkscore_research.policies.tpm.policy import Tpm, TpmParams

__all__ = ["Tpm", "TpmParams"]
