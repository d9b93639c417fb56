"""What a generated session is about.

Each topic has one value for each attribute, unlike any other topic's, so that an answer is right or wrong and never a matter of
opinion.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ops.evidence.chance import seeded

Attribute = Literal["service", "limit", "ban", "deadline", "decision", "path"]
ATTRIBUTES: tuple[Attribute, ...] = ("service", "limit", "ban", "deadline", "decision", "path")

_AREAS = "billing checkout search ingest mail auth stock media report quota export routing pricing ledger audit".split()
_PARTS = "gateway worker proxy cache broker index planner sink relay poller".split()
_PEOPLE = "Ada Grace Linus Edsger Barbara Ken Radia Leslie Tony Niklaus".split()
_TOOLS = (
    "a marker table", "a second pass", "one shared lock", "a bounded queue", "row versions", "a nightly job", "two writers",
    "a feature flag", "an append-only file", "a single reader", "retry with jitter", "a write-through cache",
)  # fmt: skip
_CAUSES = (
    "the second pass reads every file twice", "the lock is held across the network call", "the queue grows without bound",
    "two writers lose updates", "the nightly job misses late rows", "readers starve under load", "the flag leaks into tests",
)  # fmt: skip


class Planted(msgspec.Struct, frozen=True):
    """One statement that the session must not forget: `value` stands verbatim in `sentence`, and in no other topic's.

    `question` asks for it in the statement's own words, as an agent does that knows what it looks for.
    """

    topic: int
    attribute: Attribute
    value: str
    sentence: str
    question: str


class Topic(msgspec.Struct, frozen=True):
    """One piece of work in the session."""

    number: int
    area: str
    part: str
    planted: tuple[Planted, ...]

    @property
    def name(self) -> str:
        """How people speak of it, without its exact name."""
        return f"{self.area} {self.part}"


def topic(seed: int, number: int) -> Topic:
    """The topic with this number; the same for the same seed, whatever was asked for before."""
    chance = seeded("topic", seed, number)
    area, part = chance.choice(_AREAS), chance.choice(_PARTS)
    service = f"{area}-{part}-{number}"
    person = chance.choice(_PEOPLE)
    used, passed = chance.sample(_TOOLS, 2)
    limit = f"{20 + number * 7} req/s"
    day = f"2027-{1 + number % 12:02}-{1 + number // 12 % 28:02}"
    path = f"src/{area}/{part}_{number}.py"
    texts: dict[Attribute, tuple[str, str, str]] = {
        "service": (
            service,
            f"The {area} incident {number} comes from {service}.",
            f"{area} incident {number} comes from",
        ),
        "limit": (limit, f"{service} accepts at most {limit} from the {area} client.", f"{service} accepts at most"),
        "ban": (
            f"Do not restart {service}",
            f"Do not restart {service} without approval from {person}.",
            f"restart {service} without approval",
        ),
        "deadline": (day, f"The {area} change for {service} has to ship by {day}.", f"change for {service} has to ship by"),
        "decision": (
            f"{used} instead of {passed} for {service}",
            f"We decided on {used} instead of {passed} for {service}, because {chance.choice(_CAUSES)}.",
            f"we decided on for {service}",
        ),
        "path": (path, f"The retry code of {service} lives in {path}.", f"retry code of {service} lives in"),
    }
    planted = tuple(Planted(number, attribute, *texts[attribute]) for attribute in ATTRIBUTES)
    return Topic(number, area, part, planted)


SMALL_TALK = (
    "Looking at the handler now.", "The tests are green again.", "That matches what the trace shows.",
    "Moving on to the next step.", "The diff is small and stays in one module.", "I read the surrounding code first.",
    "The build finished without warnings.", "This is the part that was slow before.", "The names follow the module's habit.",
    "Nothing else touches this path.",
)  # fmt: skip
"""What fills the time between statements that matter."""

NAMES = "batch row queue reader writer offset window limit retry cursor batch_size shard lease token entry".split()
SOURCE_LINES = (
    "    def {a}_of(self, {b}):", "        return self._{a}.get({b})", "        if {a} is None:", "            continue",
    "        for {a} in self._{b}:", "            yield {a}.{b}", "", "import {a}", "from {a} import {b}",
    "        self._{a} = {b}", "            raise ValueError({a})", "        log.debug('{a}', {b})",
    "    # {a} before {b}, as the caller expects", "    @property",
    "        with self._lock:", "            self._{a}.append({b})", "        {a}, {b} = {b}, {a}", "        assert {a} in {b}",
    "    {a}_max: int = {n}", "    path = root / '{a}' / '{b}_{n}.toml'",
)  # fmt: skip
"""Lines of source code, which is what tools print most."""
