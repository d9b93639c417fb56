"""A whole log into another one: all three topics, byte for byte, the order of each scope kept.

Source and target may have different partition counts, so what is compared is each scope by itself: what the target has of it
must be a beginning of what the source has. Then the rest is appended, and in the end both are compared once more. A copy that
was cut short therefore goes on where it stopped, and one whose source has grown catches up; anything else in the target is
refused before a single entry is written.

A misrouted entry, published past the ledger, has no place in another log: there it might be folded, which it is not where it
stands. It is left out when that is asked for, with what the ledger said of it, and listed; the source keeps it.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from hashlib import blake2b

import msgspec

from consumers.folding import names_a_scope, stray_scope
from ledger.errors import IntegrityError, UsageError
from ledger.log import EVENTS, TOPICS, Entry, Log, NewEntry, partition_of
from schemas.ids import digest

HASH_BYTES = 32
READ_ENTRIES = 1000
Progress = Callable[[int, int], None]
"""Called with entries handled and entries there are; each topic is gone through three times."""


class TopicCopied(msgspec.Struct, frozen=True, kw_only=True):
    """One topic: entries that this run appended, that an earlier one had, and that there are now."""

    topic: str
    copied: int
    present: int
    entries: int


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A misrouted entry that was not copied: where it stands in the source, and what is needed to recognise it."""

    position: str
    key: str
    value_bytes: int
    sha256: str


class CopyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied, from which log to which, and what was left out because it is misrouted."""

    source: str
    target: str
    topics: list[TopicCopied]
    left_out: list[LeftOut]


class _Scope(msgspec.Struct):
    """How many entries of a scope there are, and a hash over them in their order."""

    count: int = 0
    hash: bytes = bytes(HASH_BYTES)

    def add(self, entry: Entry) -> None:
        """One more entry: value and headers, each with its length, chained to what came before."""
        parts = [part for name, value in entry.headers for part in (name.encode("utf-8", "surrogatepass"), value)]
        self.hash = digest(self.hash, entry.value, *parts, size=HASH_BYTES)
        self.count += 1


Scopes = dict[bytes, _Scope]
"""Hash of a scope's name to what is known of it: a fleet has a million scopes, and names may be long."""


async def copy_log(
    source: Log, target: Log, progress: Progress = lambda *_: None, *, leave_out_misrouted: bool = False
) -> CopyAnswer:
    """Copy every entry of `source` that `target` lacks.

    Raises `UsageError` if both are one log, or if the target has entries that are not the beginning of the source's; nothing
    was written then. Raises `IntegrityError` for an entry of the source that stands in a partition of another scope, unless
    those are left out, and where the target differs after all, because somebody else wrote to it meanwhile. Raises what reading
    and appending raise; a second run goes on from there.
    """
    if source.identity.log_id == target.identity.log_id:
        raise UsageError("source and target are one log", hint="Name another target.")
    work = _Work(progress, 3 * sum([await _total(source, topic) for topic in TOPICS]))
    origin = _Origin(source, work, leave_out_misrouted)
    present = {topic: await _scopes(target, topic, work) for topic in TOPICS}
    for topic in TOPICS:
        await _refuse_foreign(origin, topic, present[topic])
    # Outputs follow their events: with ends taken in this order no output is copied whose event is not, while workers go on.
    ends = {topic: await _ends(source, topic) for topic in reversed(TOPICS)}
    answers = []
    for topic in TOPICS:
        before = sum(scope.count for scope in present[topic].values())
        copied = await _append_rest(origin, target, topic, ends[topic], present[topic])
        answers.append(TopicCopied(topic=topic, copied=copied, present=before, entries=before + copied))
    for topic in TOPICS:
        await _compare(target, topic, present[topic], work)
    return CopyAnswer(
        source=source.identity.log_id, target=target.identity.log_id, topics=answers, left_out=list(origin.left_out.values())
    )


class _Work:
    """Counts entries for whoever watches."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def done(self, entries: int) -> None:
        """So many more."""
        self._done += entries
        self._progress(min(self._done, self._total), self._total)


async def _total(log: Log, topic: str) -> int:
    return sum(await _ends(log, topic))


async def _ends(log: Log, topic: str) -> list[int]:
    return [await log.end(topic, number) for number in range(log.identity.partitions)]


async def _batches(log: Log, topic: str, work: _Work, ends: list[int] | None = None) -> AsyncIterator[list[Entry]]:
    """All entries of a topic up to these ends, or as of now, partition by partition, each partition in order."""
    for number in range(log.identity.partitions):
        offset, end = 0, ends[number] if ends is not None else await log.end(topic, number)
        while offset < end:
            batch = await log.read(topic, number, offset, max_entries=min(READ_ENTRIES, end - offset))
            if not batch:
                break
            yield batch
            offset += len(batch)
            work.done(len(batch))


class _Origin:
    """The entries of the source that have a place in another log."""

    def __init__(self, log: Log, work: _Work, leave_out: bool) -> None:
        self._log, self._work, self._leave_out = log, work, leave_out
        self.left_out: dict[str, LeftOut] = {}
        self._astray: set[int] = set()
        """Partitions in which misrouted events were found."""

    async def batches(self, topic: str, ends: list[int] | None = None) -> AsyncIterator[list[Entry]]:
        """As `_batches`, without what is left out. Raises `IntegrityError` for a misrouted entry that is not to be."""
        async for batch in _batches(self._log, topic, self._work, ends):
            yield [entry for entry in batch if self._has_a_place(topic, entry)]

    def _has_a_place(self, topic: str, entry: Entry) -> bool:
        at, partitions = entry.position, self._log.identity.partitions
        if names_a_scope(entry.key) and partition_of(entry.key, partitions) == at.partition:
            # What the fold said of stray records stands under a scope of the partition's own, and goes with them.
            return topic == EVENTS or at.partition not in self._astray or entry.key != stray_scope(at.partition, partitions)
        if not self._leave_out:
            raise IntegrityError(
                f"{at}: the entry has no key, or one of another partition, so it was published past the ledger and is folded "
                "nowhere; in another log it might be",
                hint="Keep this log, for the entry is evidence, and copy the rest: cledger log copy --leave-out-misrouted",
            )
        if topic == EVENTS:
            self._astray.add(at.partition)
        self.left_out[str(at)] = LeftOut(
            position=str(at),
            key=entry.key,
            value_bytes=len(entry.value),
            sha256=hashlib.sha256(entry.value).hexdigest(),
        )
        return False


def _name(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


async def _scopes(log: Log, topic: str, work: _Work) -> Scopes:
    found: Scopes = {}
    async for batch in _batches(log, topic, work):
        for entry in batch:
            found.setdefault(_name(entry.key), _Scope()).add(entry)
    return found


async def _refuse_foreign(source: _Origin, topic: str, present: Scopes) -> None:
    """Raises `UsageError` unless all that the target has is a beginning of what the source has."""
    if not present:
        return
    seen: Scopes = {}
    equal = 0
    async for batch in source.batches(topic):
        for entry in batch:
            name = _name(entry.key)
            have = present.get(name)
            mine = seen.setdefault(name, _Scope())
            if have is None or mine.count >= have.count:
                continue
            mine.add(entry)
            if mine.count == have.count:
                if mine.hash != have.hash:
                    raise _foreign(topic, f"what it has of scope {entry.key!r} is something else")
                equal += 1
    if equal != len(present):
        raise _foreign(topic, f"{len(present) - equal} of its scopes are not in the source, or longer than there")


def _foreign(topic: str, why: str) -> UsageError:
    return UsageError(
        f"the target is not empty and no earlier copy of this log: {topic}: {why}",
        hint="Choose an empty target. Nothing was written.",
    )


async def _append_rest(source: _Origin, target: Log, topic: str, ends: list[int], present: Scopes) -> int:
    """Append what the target lacks up to these ends. `present` then says what it must have."""
    skipped: dict[bytes, int] = {}
    before = {name: scope.count for name, scope in present.items()}
    copied = 0
    async for batch in source.batches(topic, ends):
        rest = []
        for entry in batch:
            name = _name(entry.key)
            if skipped.get(name, 0) < before.get(name, 0):
                skipped[name] = skipped.get(name, 0) + 1
                continue
            rest.append(NewEntry(entry.key, entry.value, entry.headers))
            present.setdefault(name, _Scope()).add(entry)
        await target.append(topic, rest)
        copied += len(rest)
    return copied


async def _compare(target: Log, topic: str, expected: Scopes, work: _Work) -> None:
    found = await _scopes(target, topic, work)
    if found != expected:
        raise IntegrityError(
            f"{topic}: the target is not what was copied", hint="Somebody else writes to it. Copy into a log of its own."
        )
