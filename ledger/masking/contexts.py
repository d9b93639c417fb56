"""Secrets that have no shape of their own and are known by what stands before them: keys, headers, URLs, options, key blocks.

`password` and `token` are also words of code and prose, so the value decides: `token = next_token()`, `password: str`,
`max_tokens: 4096` and `secret: ${VAULT_SECRET}` hold no secret, and what they hold may be a fact that somebody needs.
"""

from __future__ import annotations

import re

from ledger.masking.families import Accept, Family

_PLACEHOLDERS = frozenset(
    b"none null nil true false undefined string required optional redacted masked hidden secret password passwd token "
    b"example placeholder value unset empty default".split()
)
_VARIABLE = re.compile(
    rb"\$\{|\$\(|\{\{|\{[A-Za-z_]|#\{|\$[A-Z_][A-Z0-9_]*$|\$[a-z_]+$|\$[0-9]$|%[A-Z_]+%$|%s|%\(|<[^>]*>$|(?i:your|my)[_-]"
)
_BARE_REFERENCE = re.compile(rb"[@:&*?%][A-Za-z_]|\$")
_CODE_PATH = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$]*(?:\.[A-Za-z_$][A-Za-z0-9_$]*)+")
_FILE_PATH = re.compile(
    rb"(?:~|\.{1,2})?(?:/[A-Za-z0-9_.@{}-]{1,30})+/?|[A-Za-z]:\\.*|[A-Za-z][A-Za-z0-9+.-]*://.*|arn:.*|[a-z0-9_.:@-]+(?:/[a-z0-9_.:@-]+)+"
)
"""A path, a URL or a resource name. Base64 may hold a slash too, and has longer runs and capitals between them."""
_NUMBER_OR_TIME = re.compile(rb"[0-9TZ:.,+_-]+")
_WORD_FOLLOWS = re.compile(rb"[ \t]+[a-z]{1,14}(?:[\s,;]|\.\s|\.?$)")
_CALL_OR_INDEX = frozenset({b"(", b"[", b"{"})
_ODD = frozenset(b"!@#$%^*+~?")

_LINE_MAX_BYTES = 1024
"""Longest quoted value that is looked at: no secret of one line is longer, and a quote left open must not reach further."""


def _is_placeholder(value: bytes) -> bool:
    """Stands for a secret and is none: a variable, a template, a row of asterisks, a word that says so."""
    return (
        bool(_VARIABLE.match(value))
        or b"${" in value
        or len(set(value) - {45}) < 2
        or value.lower().strip(b"<>.-_") in _PLACEHOLDERS
    )


def _has_digit_and_letter(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value) and any(65 <= byte & 0xDF <= 90 for byte in value)


def _looks_drawn(value: bytes) -> bool:
    return _has_digit_and_letter(value) or not _ODD.isdisjoint(value)


def _before(match: re.Match[bytes], pattern: bytes, reach: int) -> bool:
    """Does `pattern` end right before the match? Looks back `reach` bytes at most."""
    return bool(re.search(rb"(?:" + pattern + rb")$", match.string[max(0, match.start() - reach) : match.start()]))


def _after(match: re.Match[bytes], reach: int = 1) -> bytes:
    return match.string[match.end() : match.end() + reach]


def _is_option(match: re.Match[bytes]) -> bool:
    """Does the key end a long option, as in `--db-password VALUE`?"""
    return _before(match, rb"(?:^|[\s\"'=])--[A-Za-z0-9-]{0,30}", 33)


def _is_element(match: re.Match[bytes]) -> bool:
    """Is the key the name of an XML element, as in `<db.password>VALUE</db.password>`?"""
    return _before(match, rb"<[A-Za-z0-9_.:-]{0,40}", 42) and _after(match) == b"<"


def _is_code(match: re.Match[bytes], value: bytes) -> bool:
    """A bare value that is a name, a call or a reference, not a literal."""
    return _after(match) in _CALL_OR_INDEX or bool(_CODE_PATH.fullmatch(value) or _BARE_REFERENCE.match(value))


def _separated(match: re.Match[bytes], value: bytes) -> bool:
    """Is the value really the key's? A blank is enough after an option, or before a quoted value that looks drawn by lot."""
    separator: bytes = match["sep"]
    if separator == b">":
        return _is_element(match)
    if separator:
        return True
    return not match["close"] and (_is_option(match) or (bool(match["q"]) and _looks_drawn(value)))


def _value(match: re.Match[bytes]) -> bytes:
    value: bytes = match["quoted"] if match["q"] else match["bare"]
    return value


def _is_password(match: re.Match[bytes]) -> bool:
    """A value after `password` and its like. In quotes, in an option, an element or an environment line any literal
    counts; bare, it must not read as code or prose: `password: str` and `password: 12 characters or more` hold no secret.
    """
    value, key, separator = _value(match), match["key"], match["sep"]
    if _is_placeholder(value) or _FILE_PATH.fullmatch(value) or not _separated(match, value):
        return False
    if key.lower() == b"pass" and not _before(match, rb"[_.\"'-]", 1):
        return False
    if match["q"]:
        return not re.search(rb"\s", value) or key.lower() == b"passphrase"
    if separator in {b"", b">"}:
        return True
    if _is_code(match, value):
        return False
    if key.isupper() and separator == b"=" and _after(match) != b"(":
        return True
    if separator != b"=" and _WORD_FOLLOWS.match(_after(match, 17)):
        return not _ODD.isdisjoint(value) and _has_digit_and_letter(value)
    return _looks_drawn(value) or (value.isdigit() and separator == b"=")


def _is_credential(match: re.Match[bytes]) -> bool:
    """A value after `token`, `secret`, `api_key` and their like, words that name much else: it has to look drawn by lot."""
    value = _value(match)
    if len(value) < 8 or _is_placeholder(value) or not _separated(match, value) or re.search(rb"\s", value):
        return False
    if _NUMBER_OR_TIME.fullmatch(value) or _FILE_PATH.fullmatch(value) or _CODE_PATH.fullmatch(value):
        return False
    if not match["q"] and _is_code(match, value):
        return False
    return _has_digit_and_letter(value) or (bool(match["q"]) and len(value) >= 20 and value.isalpha())


def _is_header_value(match: re.Match[bytes]) -> bool:
    value: bytes = match["s"]
    if _is_placeholder(value) or _is_code(match, value) or _FILE_PATH.fullmatch(value):
        return False
    return _has_digit_and_letter(value) or (len(value) >= 16 and value.isalnum())


def _is_url_password(match: re.Match[bytes]) -> bool:
    value: bytes = match["s"]
    return not _is_placeholder(value) and not re.match(rb"[0-9]{1,5}[,)\]|]", value)


def _is_user_password(match: re.Match[bytes]) -> bool:
    value: bytes = match["s"]
    return not _is_placeholder(value) and not value.startswith(b"$") and _looks_drawn(value)


def _is_pgpass(match: re.Match[bytes]) -> bool:
    return _before(match, rb"(?:^|[\s\"'])[A-Za-z0-9_.*-]{1,100}", 102) and not _is_placeholder(match["s"])


def _is_auth_pair(match: re.Match[bytes]) -> bool:
    return _has_digit_and_letter(match["s"]) or match["s"].endswith(b"=")


_TYPE = rb"(?:[ \t]?:[ \t]?&?(?:'static )?(?:[Ss]tr|[Ss]tring|bytes)(?=[ \t]?=))?"
_ASSIGNED = (
    rb"[0-9]{0,2}(?P<close>\\{0,4}[\"'`]\]?)?"
    + _TYPE
    + rb"[ \t]{0,8}(?P<sep>[=!]==?|:=|=>|[=:>]|(?<=[ \t]))[ \t]{0,8}"
    + rb"(?:(?P<q>\\{0,4}[\"'`])(?P<quoted>(?:(?!(?P=q))[^\r\n]){4,%d})(?P=q)|(?P<bare>[^\s\"'`,;&<>(){}\[\]|\\]{4,}))"
    % _LINE_MAX_BYTES
)


def _assigned(name: str, triggers: str, key: bytes, accept: Accept) -> Family:
    """A value that is assigned to a key: `key=value`, `"key": "value"`, `--key value`, `<key>value</key>`."""
    pattern = re.compile(rb"(?P<key>" + key + rb")" + _ASSIGNED, re.IGNORECASE)
    return Family(name, tuple(triggers.encode().split()), pattern, folded=True, accept=accept)


CONTEXTS: tuple[Family, ...] = (
    Family(
        "private-key",
        (b"-----BEGIN ",),
        re.compile(
            rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:"
            rb"(?:[^-]|-(?!----))*-----END [A-Z0-9 ]{0,80}PRIVATE KEY(?: BLOCK)?-----"
            # Cut off before its end: whatever lines of base64 follow.
            rb"|(?:(?:\s|\\[nrt]){0,8}[A-Za-z0-9+/=]{20,})+)"
        ),
    ),
    Family("private-key", (b"Private-Lines: ",), re.compile(rb"Private-Lines: [0-9]+(?P<s>(?:(?:\r?\n|\\n)[A-Za-z0-9+/=]+)+)")),
    Family(
        "url-password",
        (b"://",),
        re.compile(rb"://[^\s/:@\"'<>]{0,80}:(?P<s>[^\s/\"'<>]{1,200})@(?=[A-Za-z0-9\[{$])"),
        accept=_is_url_password,
    ),
    Family(
        "authorization",
        (b"authorization",),
        re.compile(
            rb"authorization(?:\\{0,4}[\"'`]\]?)?[ \t]{0,4}[:=][ \t]{0,4}(?:\\{0,4}[\"'`])?"
            rb"(?:(?:bearer|basic|token|apikey|digest|negotiate|bot)[ \t]{1,4})?(?P<s>[^\s\"'`\\,;<>(){}\[\]]{8,})",
            re.IGNORECASE,
        ),
        folded=True,
        accept=_is_header_value,
    ),
    Family(
        "authorization",
        (b"bearer ",),
        re.compile(rb"(?<![A-Za-z0-9_])bearer[ \t]{1,4}(?P<s>[A-Za-z0-9._~+/-]{16,}={0,2})(?![A-Za-z0-9_])", re.IGNORECASE),
        folded=True,
        accept=lambda match: _has_digit_and_letter(match["s"]) and not _FILE_PATH.fullmatch(match["s"]),
    ),
    Family(
        "cookie",
        (b"cookie:",),
        re.compile(rb"cookie:[ \t]{0,4}(?P<s>[A-Za-z0-9_.-]{1,80}=[^\r\n\"'\\]{8,})", re.IGNORECASE),
        folded=True,
        accept=lambda match: _has_digit_and_letter(match["s"].partition(b"=")[2]),
    ),
    Family(
        "basic-auth",
        (b"-u ", b"--user ", b"--user="),
        re.compile(rb"(?<![A-Za-z0-9_-])(?:-u|--user)[ =]\\{0,4}[\"']?[^\s:\"'/]{1,100}:(?P<s>[^\s\"'`\\]{3,})"),
        accept=_is_user_password,
    ),
    Family(
        "basic-auth",
        (b'"auth',),
        re.compile(rb'"auth\\{0,4}"\s{0,4}:\s{0,4}\\{0,4}"(?P<s>[A-Za-z0-9+/]{12,}={0,2})(?=\\{0,4}")'),
        accept=_is_auth_pair,
    ),
    Family(
        "pgpass",
        (b":5432:", b":*:"),
        re.compile(rb":(?:5432|\*):[^:\s]{1,64}:[^:\s]{1,64}:(?P<s>[^\s:\"'\\]{3,})(?=[\s\"'\\]|$)"),
        accept=_is_pgpass,
    ),
    Family(
        "netrc",
        (b"machine ",),
        re.compile(rb"machine [^\s]{1,200}\s{1,20}login\s{1,20}[^\s]{1,100}\s{1,20}password\s{1,20}(?P<s>[^\s\"'\\]{3,})"),
    ),
    Family(
        "password",
        (b"sshpass ",),
        re.compile(rb"sshpass -p[ =]?(?:(?P<q>[\"'])(?P<quoted>[^\"'\r\n]{3,200})(?P=q)|(?P<bare>[^\s\"'$]{3,}))"),
    ),
    _assigned("password", "pass pwd", rb"pass(?:word|wd|phrase|code)?|pwd", _is_password),
    _assigned("secret", "secret", rb"secret(?:[_-]?access)?(?:[_-]?key)?", _is_credential),
    _assigned("token", "token", rb"token", _is_credential),
    _assigned(
        "api-key",
        "api_key apikey api-key access_key accesskey access-key private_key privatekey _auth auth_key signing_key "
        "encryption_key",
        rb"api[_-]?key|access[_-]?key|private_?key|_?auth(?:_key)?|(?:signing|encryption)_key",
        _is_credential,
    ),
    _assigned("credential", "credential", rb"credentials?", _is_credential),
)
