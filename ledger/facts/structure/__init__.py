"""What kind of text a text is: prose, tables, code, entries, the output of tools."""
