"""What the project exists for: facts, rules, decide and evolve, the log port."""
