"""Transcripts of agent sessions: bytes to lines, lines to neutral items, items to records.

    lines.py       bytes to physical lines, with offsets; also fed piece by piece
    decoding.py    lines to objects of a format, with every line that could not be read named
    model.py       the neutral items that every reader yields
    claude_code.py, codex.py    one reader per format
    formats.py     which reader a file needs
    reading.py     a whole file, streamed
    report.py      what `inspect` says of a file
    to_records.py  items to records of the log
    files.py, follow.py    finding files, and following one that still grows

A further format is one file with a `Format` and a line in `formats.py`.
"""
