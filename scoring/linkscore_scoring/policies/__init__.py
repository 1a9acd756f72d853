"""Link scoring policies, one file each."""
