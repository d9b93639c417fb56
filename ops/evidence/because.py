"""What sentences with *because* really are: a reader's verdict on each of a sample, by the hash of the sentence.

The fourth source leaves open how often the word is a false alarm. The sample of `rounds.sample` was read once; a sentence that
is not here has not been judged, and is counted so. Verdicts are kept by hash, for the transcripts are not part of this project.

    choice         why something was chosen, done or left undone: what a session needs so as not to argue it again
    explanation    why something is as it is: a cause in the code or in the world, which can be found out again
    nothing        the reason is not in the sentence: it announces a list, or breaks off
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

Verdict = Literal["choice", "explanation", "nothing"]
VERDICTS: dict[str, Verdict] = {
    "4eaeefd7ebc0": "explanation",
    "24badff68ffd": "choice",
    "c54166ae6463": "explanation",
    "3e002da6c105": "explanation",
    "7b1f53184a21": "nothing",
    "64b0859e6c96": "explanation",
    "cae926664575": "explanation",
    "1308093ebba8": "explanation",
    "dd05c750a64a": "choice",
    "18b0ddd6bb15": "explanation",
    "61af3a13b4e3": "nothing",
    "da664a6ca5b4": "nothing",
    "59888c424673": "explanation",
    "63559ee26a86": "explanation",
    "1b8d6c4351bf": "explanation",
    "79515a50d0bc": "explanation",
    "92e130989291": "explanation",
    "7aebd9f5b8b7": "explanation",
    "a6446f15705a": "explanation",
    "a9d0a497a5b4": "nothing",
    "3080ff6f3503": "explanation",
    "d40fa3fbcbb0": "explanation",
    "326d8bf0259e": "explanation",
    "d7d5cdfb507f": "explanation",
    "c5bf0fbf7bed": "choice",
    "8dac7d592b11": "explanation",
    "889eaaeabbe2": "explanation",
}


def key_of(sentence: str) -> str:
    """The hash under which a sentence is judged."""
    return hashlib.sha256(sentence.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def counted(sentences: Iterable[str]) -> dict[str, int]:
    """Sentences by verdict, those that nobody judged under `not judged`."""
    counts = {"choice": 0, "explanation": 0, "nothing": 0, "not judged": 0}
    for sentence in sentences:
        counts[VERDICTS.get(key_of(sentence), "not judged")] += 1
    return counts
