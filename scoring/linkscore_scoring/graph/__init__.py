"""Link graphs: PageRank, and the URLs of a site as numbered nodes."""
