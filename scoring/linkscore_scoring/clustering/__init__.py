"""Pages of a site clustered into templates: the default clusterer, and what is known of each cluster.

`learn` clusters a sample with a clusterer of `CLUSTERERS` and gives a `TemplateModel`, which classifies
further pages and describes its clusters; `ClusterIdentities` keeps cluster ids over relearning. Clusterers
import heavy libraries only when they learn, if they use them.
"""
