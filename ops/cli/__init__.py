"""The command `cledger`: thin commands over the queries. Data on stdout, talk on stderr, one meaning for each exit code."""
