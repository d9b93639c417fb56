"""Transcripts of agent sessions: bytes to lines, lines to neutral items, items to records.

    lines.py       bytes to physical lines, with offsets; also fed piece by piece
    decoding.py    lines to objects of a format, with every line that could not be read named
    model.py       the neutral items that every reader yields
    jsonl.py, document.py     what readers of one object a line, and of one JSON document, have in common
    session_items.py          what one session says: copies, conflicts, rounds
    claude_code.py, codex.py, pi.py, copilot.py, openhands.py, opencode.py     one reader per format
    formats.py     what a format has to bring, and which one a file is in
    reading.py     a whole file, streamed
    report.py      what `inspect` says of a file
    to_records.py  items to records of the log
    files.py, follow.py    finding files, and following one that still grows

A further format is one file with a `Format` and a line in `reading.py`.
"""
