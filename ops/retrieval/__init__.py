"""Adapters of the retrieval port: the ledger's own store, and a command of the user's."""
