"""From a text to its facts: which sentences count, of which class, with which marks (design sections 3 and 5)."""
