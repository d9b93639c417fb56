"""Words and what they do in a sentence: folding, stems, tables of languages, tokens, clauses."""
