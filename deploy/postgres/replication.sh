#!/bin/bash
# Lets the standby of compose.cluster.yaml copy the primary; run once, when its data folder is made.
set -e
echo "host replication linkscore all scram-sha-256" >> "$PGDATA/pg_hba.conf"
