"""Following the log: one fold and one commit a partition, and the queries that read what was committed."""
