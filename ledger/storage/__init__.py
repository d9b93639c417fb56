"""Stores in LMDB, for log and index alike: layout, opening with every check, pages, memory, and the partitions of a log."""
