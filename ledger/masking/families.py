"""The shapes of secrets, as data: one family a kind of token, with a literal that gives it away and a pattern that settles it.

A family is looked for by its triggers, plain byte strings of which each of its secrets holds one; only where one stands is the
pattern tried, once, at that place. So a text without secrets costs a few memory scans, and no pattern goes back and forth over
a long text: patterns are bounded, or run over a character class in which their own trigger cannot start again and fail.

Patterns work on UTF-8 bytes, where character classes mean ASCII on every interpreter. Each match ends where no letter, digit or
underscore follows, which keeps masking idempotent: what a mask leaves beside itself never becomes a token by being beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

Accept = Callable[[re.Match[bytes]], bool]

START = rb"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=%[0-9A-F]{2}))"
"""A token begins after a character that is no part of a word, after an escape of a quoted string, or after a URL escape."""

END = rb"(?![A-Za-z0-9_])"

_ALONE = rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=%[0-9A-F]{2}))"
"""For prefixes that ordinary names have inside (`cache-key-…`), and where a run over `-` could start again at each `-`."""

_DIGIT_SOON = rb"(?=[A-Za-z_-]{0,60}[0-9])"
"""What has no digit in its first 60 characters is a name in words, such as a style class."""


class Family(NamedTuple):
    """One kind of secret. Of a pattern with a group `s`, `quoted` or `bare`, that group is the secret, else the whole match.

    `triggers` are lower-case and looked for without regard to case if `folded` is set. The pattern is tried `back` bytes before
    a trigger. `accept` may turn down a match that has the shape and is no secret.
    """

    name: str
    triggers: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    folded: bool = False
    back: int = 0
    accept: Accept | None = None


def _token(name: str, triggers: str, body: bytes, *, back: int = 0, start: bytes = START) -> Family:
    """A token with a prefix of its own. `triggers` are separated by spaces; `body` is the pattern from the trigger on."""
    return Family(name, tuple(triggers.encode().split()), re.compile(start + b"(?:" + body + b")" + END), back=back)


TOKENS: tuple[Family, ...] = (
    # Clouds
    _token("aws-access-key", "AKIA ASIA", rb"A[KS]IA[A-Z0-9]{16}"),
    _token("google-api-key", "AIza", rb"AIza[A-Za-z0-9_-]{35}"),
    _token("google-oauth", "ya29. GOCSPX- 1//0", rb"(?:ya29\.|GOCSPX-|1//0)[A-Za-z0-9_-]{20,}"),
    _token("azure-client-secret", "8Q~", rb"[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{30,}", back=3),
    _token(
        "azure-storage-key", "AccountKey= SharedAccessKey=", rb"(?:Account|SharedAccess)Key=(?P<s>[A-Za-z0-9+/]{40,}={0,2})"
    ),
    _token("azure-sas", "sig=", rb"sig=(?P<s>[A-Za-z0-9+/%]{43,}={0,2})"),
    _token("alibaba-access-key", "LTAI", rb"LTAI[A-Za-z0-9]{12,24}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rb"do[opr]_v1_[0-9a-f]{64}"),
    _token("heroku-token", "HRKU-", rb"HRKU-[A-Za-z0-9_-]{30,}"),
    _token("databricks-token", "dapi", rb"dapi[0-9a-f]{32}(?:-[0-9])?"),
    _token("supabase-key", "sbp_ sb_secret_", rb"(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    _token("planetscale-token", "pscale_", rb"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}"),
    _token("netlify-token", "nfp_", rb"nfp_[A-Za-z0-9]{36,}"),
    _token("tailscale-key", "tskey-", rb"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{16,}"),
    # Code hosts, registries, build systems
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rb"gh[pousr]_[A-Za-z0-9]{36,}"),
    _token("github-token", "github_pat_", rb"github_pat_[A-Za-z0-9_]{22,}"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glcbt- glft- glsoat- glimt- glagent- gloas-",
        rb"gl(?:pat|dt|rt|ptt|cbt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,}",
    ),
    _token("bitbucket-token", "ATBB", rb"ATBB[A-Za-z0-9]{32}"),
    _token("atlassian-token", "ATATT3", rb"ATATT3[A-Za-z0-9_=-]{60,}"),
    _token("npm-token", "npm_", rb"npm_[A-Za-z0-9]{36}"),
    _token("pypi-token", "pypi-AgE", rb"pypi-AgE[A-Za-z0-9_-]{50,}"),
    _token("rubygems-key", "rubygems_", rb"rubygems_[0-9a-f]{48}"),
    _token("crates-token", "cio", rb"cio[A-Za-z0-9]{32}"),
    _token("docker-token", "dckr_pat_ dckr_oat_", rb"dckr_[po]at_[A-Za-z0-9_-]{27,}"),
    _token("jfrog-key", "AKCp", rb"AKCp[A-Za-z0-9]{60,80}"),
    _token("terraform-token", ".atlasv1.", rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}", back=14),
    _token("pulumi-token", "pul-", rb"pul-[0-9a-f]{40}"),
    _token("vault-token", "hvs. hvb. hvr.", rb"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    _token("doppler-token", "dp.", rb"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    # Models and their hosts
    _token("anthropic-key", "sk-ant-", rb"sk-ant-" + _DIGIT_SOON + rb"[A-Za-z0-9_-]{20,}"),
    _token("openai-key", "sk-proj- sk-svcacct- sk-admin-", rb"sk-[a-z]+-" + _DIGIT_SOON + rb"[A-Za-z0-9_-]{20,}"),
    _token("openrouter-key", "sk-or-", rb"sk-or-" + _DIGIT_SOON + rb"[A-Za-z0-9_-]{20,}"),
    _token("openai-key", "sk-", rb"sk-" + _DIGIT_SOON + rb"[A-Za-z0-9]{32,}"),
    _token("huggingface-token", "hf_", rb"hf_[A-Za-z0-9]{30,}"),
    _token("groq-key", "gsk_", rb"gsk_[A-Za-z0-9]{40,}"),
    _token("xai-key", "xai-", rb"xai-[A-Za-z0-9]{60,}"),
    _token("perplexity-key", "pplx-", rb"pplx-[A-Za-z0-9]{40,}"),
    _token("replicate-token", "r8_", rb"r8_[A-Za-z0-9]{37}"),
    _token("langsmith-key", "lsv2_", rb"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    # Messages, mail, payments
    _token("slack-token", "xox", rb"xox(?:[abeoprs]|e\.xox[bp])-[A-Za-z0-9-]{10,}"),
    _token("slack-token", "xapp-", rb"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    _token(
        "slack-webhook", "hooks.slack.com/", rb"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_-]{20,})"
    ),
    _token("discord-webhook", "/api/webhooks/", rb"/api/webhooks/[0-9]{16,20}/(?P<s>[A-Za-z0-9_-]{60,})", start=b""),
    _token("telegram-token", ":AA", rb"(?<=[0-9]{8}):(?P<s>AA[A-Za-z0-9_-]{33})", start=b""),
    _token("twilio-key", "SK", rb"SK[0-9a-f]{32}"),
    _token("sendgrid-key", "SG.", rb"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _token("mailgun-key", "key-", rb"key-[0-9a-f]{32}", start=_ALONE),
    _token("mailchimp-key", "-us", rb"[0-9a-f]{32}-us[0-9]{1,2}", back=32),
    _token("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", rb"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _token("stripe-webhook", "whsec_", rb"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    _token("square-token", "sq0", rb"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", rb"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    # Tools people work with
    _token("airtable-token", "pat", rb"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _token("linear-key", "lin_api_", rb"lin_api_[A-Za-z0-9]{40,}"),
    _token("notion-token", "ntn_ secret_", rb"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    _token("figma-token", "figd_", rb"figd_[A-Za-z0-9_-]{40,}"),
    _token("postman-key", "PMAK-", rb"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _token("grafana-token", "glc_ glsa_", rb"(?:glc_[A-Za-z0-9+/]{32,}={0,2}|glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8})"),
    _token("newrelic-key", "NRAK-", rb"NRAK-[A-Z0-9]{27}"),
    _token("dynatrace-token", "dt0", rb"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("sentry-token", "sntrys_ sntryu_", rb"(?:sntryu_[0-9a-f]{64}|sntrys_[A-Za-z0-9+/=_-]{40,})"),
    # Shapes of their own
    _token("jwt", "eyJ", rb"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}\.[A-Za-z0-9_-]{8,}", start=_ALONE),
    _token("age-key", "AGE-SECRET-KEY-1", rb"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Family(
        "password-hash",
        (b"$2a$", b"$2b$", b"$2x$", b"$2y$", b"$1$", b"$5$", b"$6$", b"$y$", b"$argon2"),
        re.compile(
            rb"\$(?:2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}"
            rb"|[156y]\$(?:[./A-Za-z0-9=,]{1,64}\$){1,3}[./A-Za-z0-9]{22,86}"
            rb"|argon2(?:id|i|d)\$v=[0-9]+\$[a-z0-9=,]{5,60}\$[A-Za-z0-9+/]{8,100}\$[A-Za-z0-9+/]{16,200})" + END
        ),
    ),
)
