"""Rehearsal: scenario files become records, and the fold decides. There is no second interpreter (contracts section 6)."""
