"""A retrieval command for tests: reads one question, answers from a JSON file given as its argument. `--mode` misbehaves."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Answer one question."""
    path, mode = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    question = json.loads(sys.stdin.readline())
    if mode == "late":
        time.sleep(60)
    if mode == "garbage":
        print("Segmentation fault")
        return
    if mode == "fails":
        sys.exit(3)
    if mode == "silent":
        return
    with Path(path).open(encoding="utf-8") as file:
        entries = json.load(file)
    if question["op"] == "fetch":
        print(json.dumps(entries.get(question["key"], {"status": "absent"})))
        return
    asked = set(question["text"].lower().split())
    hits = [
        {**{k: v for k, v in entry.items() if k != "status"}, "score": str(len(asked & set(entry["text"].lower().split())))}
        for entry in entries.values()
        if entry["status"] == "ok"
    ]
    hits.sort(key=lambda hit: -int(hit["score"]))
    print(json.dumps({"hits": hits[: question["k"]]}))


main()
