"""Values in a text: numbers with units, rates, dates and times, identifiers, names."""
