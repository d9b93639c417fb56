"""Whether a fact survives in another text, and what became of it where it does not (rule F2)."""
