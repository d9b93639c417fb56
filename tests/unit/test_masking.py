"""Masking (P11): secrets go, facts stay, and the masked form is the same everywhere.

Example tokens are put together from pieces, so that nothing here looks like a secret to those who search for secrets.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledger.masking import FAMILIES, MASK_VERSION, mask

MIXED = "Ab3" + "dE5gH" * 40
LOWER = "a1b2c3d4e5f6" * 20
UPPER = "A1B2C3D4E5F6" * 20

TOKENS: list[tuple[str, str]] = [
    ("aws-access-key", "AK" + "IA" + UPPER[:16]),
    ("aws-access-key", "AS" + "IA" + UPPER[:16]),
    ("google-api-key", "AI" + "za" + MIXED[:35]),
    ("google-oauth", "ya" + "29." + MIXED[:60]),
    ("google-oauth", "GOC" + "SPX-" + MIXED[:28]),
    ("azure-client-secret", "ab1" + "8Q" + "~" + MIXED[:34]),
    ("alibaba-access-key", "LT" + "AI" + MIXED[:20]),
    ("digitalocean-token", "do" + "p_v1_" + LOWER[:64]),
    ("heroku-token", "HR" + "KU-" + MIXED[:60]),
    ("databricks-token", "da" + "pi" + LOWER[:32]),
    ("supabase-key", "sb" + "p_" + LOWER[:40]),
    ("planetscale-token", "psc" + "ale_tkn_" + MIXED[:43]),
    ("netlify-token", "nf" + "p_" + MIXED[:40]),
    ("tailscale-key", "ts" + "key-auth-" + MIXED[:16] + "-" + MIXED[:32]),
    ("github-token", "gh" + "p_" + MIXED[:36]),
    ("github-token", "gh" + "s_" + MIXED[:40]),
    ("github-token", "git" + "hub_pat_" + MIXED[:22] + "_" + MIXED[:59]),
    ("gitlab-token", "gl" + "pat-" + MIXED[:20]),
    ("bitbucket-token", "AT" + "BB" + MIXED[:32]),
    ("atlassian-token", "ATA" + "TT3" + MIXED[:180] + "=" + UPPER[:8]),
    ("npm-token", "np" + "m_" + MIXED[:36]),
    ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc" + MIXED[:120]),
    ("rubygems-key", "ruby" + "gems_" + LOWER[:48]),
    ("crates-token", "ci" + "o" + MIXED[:32]),
    ("docker-token", "dc" + "kr_pat_" + MIXED[:27]),
    ("jfrog-key", "AK" + "Cp" + MIXED[:69]),
    ("terraform-token", MIXED[:14] + ".atl" + "asv1." + MIXED[:67]),
    ("pulumi-token", "pu" + "l-" + LOWER[:40]),
    ("vault-token", "hv" + "s." + MIXED[:90]),
    ("doppler-token", "dp" + ".st.dev." + MIXED[:43]),
    ("anthropic-key", "sk-" + "ant-api03-" + MIXED[:93]),
    ("openai-key", "sk-" + "proj-" + MIXED[:100] + "_-" + MIXED[:20]),
    ("openai-key", "sk" + "-" + MIXED[:48]),
    ("openrouter-key", "sk-" + "or-v1-" + LOWER[:64]),
    ("huggingface-token", "hf" + "_" + MIXED[:34]),
    ("groq-key", "gs" + "k_" + MIXED[:52]),
    ("xai-key", "xa" + "i-" + MIXED[:80]),
    ("perplexity-key", "pp" + "lx-" + MIXED[:48]),
    ("replicate-token", "r" + "8_" + MIXED[:37]),
    ("langsmith-key", "ls" + "v2_pt_" + LOWER[:32] + "_" + LOWER[:10]),
    ("slack-token", "xo" + "xb-123456789012-123456789012-" + MIXED[:24]),
    ("slack-token", "xa" + "pp-1-A0123456789-123456789012-" + LOWER[:64]),
    ("stripe-key", "sk" + "_live_" + MIXED[:24]),
    ("stripe-key", "rk" + "_test_" + MIXED[:24]),
    ("stripe-webhook", "wh" + "sec_" + MIXED[:32]),
    ("twilio-key", "S" + "K" + LOWER[:32]),
    ("sendgrid-key", "S" + "G." + MIXED[:22] + "." + MIXED[:43]),
    ("mailgun-key", "ke" + "y-" + LOWER[:32]),
    ("mailchimp-key", LOWER[:32] + "-u" + "s14"),
    ("square-token", "sq" + "0atp-" + MIXED[:22]),
    ("shopify-token", "sh" + "pat_" + LOWER[:32]),
    ("airtable-token", "pa" + "t" + MIXED[:14] + "." + LOWER[:64]),
    ("linear-key", "li" + "n_api_" + MIXED[:40]),
    ("notion-token", "nt" + "n_" + MIXED[:46]),
    ("figma-token", "fi" + "gd_" + MIXED[:40]),
    ("postman-key", "PM" + "AK-" + LOWER[:24] + "-" + LOWER[:34]),
    ("grafana-token", "gl" + "sa_" + MIXED[:32] + "_" + LOWER[:8]),
    ("newrelic-key", "NR" + "AK-" + UPPER[:27]),
    ("dynatrace-token", "dt" + "0c01." + UPPER[:24] + "." + UPPER[:64]),
    ("sentry-token", "sn" + "tryu_" + LOWER[:64]),
    ("jwt", "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + MIXED[:43]),
    ("age-key", "AGE-SEC" + "RET-KEY-1" + UPPER[:58]),
    ("password-hash", "$2" + "b$12$" + MIXED[:53]),
    ("password-hash", "$ar" + "gon2id$v=19$m=65536,t=3,p=4$" + MIXED[:22] + "$" + MIXED[:43]),
    ("password-hash", "$" + "6$" + MIXED[:16] + "$" + MIXED[:86]),
]
"""Family and a whole token of it."""

S = "hunter2" + "Zq9"
BODY = "\n".join(MIXED[i : i + 64] for i in range(0, 192, 64))

CONTEXTS: list[tuple[str, str, str]] = [
    ("azure-storage-key", "AccountName=acme;AccountKey={};EndpointSuffix=core.windows.net", MIXED[:86] + "=="),
    ("azure-sas", "https://acme.blob.core.windows.net/c?sv=2022&sig={}&se=2026", MIXED[:43] + "%3D"),
    ("slack-webhook", "POST https://hooks.slack.com/services/{} now", "T0123/B0123/" + MIXED[:24]),
    ("discord-webhook", "https://discord.com/api/webhooks/123456789012345678/{}", MIXED[:68]),
    ("telegram-token", "https://api.telegram.org/bot123456789:{}/getMe", "AA" + MIXED[:33]),
    ("private-key", "{}", "-----BEGIN RSA PRIVATE " + "KEY-----\n" + BODY + "\n-----END RSA PRIVATE " + "KEY-----"),
    (
        "private-key",
        "{}",
        "-----BEGIN OPENSSH PRIVATE " + "KEY-----\\n" + BODY.replace("\n", "\\n") + "\\n-----END OPENSSH PRIVATE KEY-----",
    ),
    (
        "private-key",
        "{}",
        "-----BEGIN RSA PRIVATE " + "KEY-----\nDEK-Info: AES-128-CBC,00\n\n" + BODY + "\n-----END RSA PRIVATE KEY-----",
    ),
    ("private-key", "{}\n... (truncated)", "-----BEGIN EC PRIVATE " + "KEY-----\n" + BODY),
    ("private-key", "Encryption: none\nPrivate-Lines: 3{}", "\n" + BODY),
    ("url-password", "postgresql://app:{}@db.internal:5432/orders", S),
    ("url-password", "redis://:{}@cache:6379/0", S),
    ("url-password", "https://ci:{}@git.acme.dev/repo.git", "p@ss" + S),
    ("authorization", "Authorization: Bearer {}", MIXED[:40]),
    ("authorization", 'curl -H "authorization: Basic {}" https://api', "dXNlcjpwYXNzd29yZA=="),
    ("authorization", '{{"Authorization": "token {}"}}', LOWER[:40]),
    ("authorization", "headers.set('X-Forwarded', 'Bearer {}')", MIXED[:30]),
    ("cookie", "Cookie: {}", "sid=" + MIXED[:30] + "; theme=dark"),
    ("basic-auth", "curl -u admin:{} https://api.acme.dev", S),
    ("basic-auth", '{{"auths": {{"r.io": {{"auth": "{}"}}}}}}', "dXNlcjpwYXNzd29yZA=="),
    ("pgpass", "db.internal:5432:orders:app:{}", S),
    ("netrc", "machine api.acme.dev login ci password {}", S),
    ("password", "sshpass -p '{}' ssh deploy@host", S),
    ("password", "DB_PASSWORD={}", "correcthorse"),
    ("password", "export PGPASSWORD={} && psql", "123456"),
    ("password", '"password": "{}",', "swordfish"),
    ("password", "password: {}\nuser: app", S),
    ("password", "password = '{}'", "swordfish"),
    ("password", 'let db_pass: &str = "{}";', "swordfish"),
    ("password", 'const string Password = "{}";', "swordfish"),
    ("password", '\\"password\\": \\"{}\\"', "swordfish"),
    ("password", "Server=db;User Id=sa;Password={};Encrypt=true", S),
    ("password", "mysql --password {} orders", "swordfish"),
    ("password", "<db.password>{}</db.password>", "swordfish"),
    ("password", 'os.environ["DB_PASSWORD"] = "{}"', "swordfish"),
    ("password", "CREATE USER app PASSWORD '{}';", S),
    ("password", "if password == '{}':", "swordfish"),
    ("secret", "client_secret={}&grant_type=x", MIXED[:24]),
    ("secret", "aws_secret_access_key = {}", MIXED[:36] + "/+xY"),
    ("secret", '"SecretAccessKey": "{}"', "/" + MIXED[:39]),
    ("token", "ACCESS_TOKEN={}", LOWER[:24]),
    ("token", "https://api.acme.dev/v1/me?access_token={}&limit=3", LOWER[:24]),
    ("token", "deploy --token {} --force", MIXED[:20]),
    ("token", "//registry.npmjs.org/:_authToken={}", MIXED[:24]),
    ("api-key", "X-Api-Key: {}", LOWER[:32]),
    ("api-key", 'apiKey: "{}",', LOWER[:20]),
    ("api-key", "HEROKU_API_KEY={}", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
    ("credential", "credentials: '{}'", MIXED[:20]),
]
"""Family, a text with a place for the secret, the secret."""

FACTS = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
    "id 3f2504e0-4f89-11d3-9a0c-0305e82c3301 and sha256:" + LOWER[:64],
    "see src/auth/token_store.py:42 and ~/.ssh/id_ed25519.pub",
    "max_tokens: 4096, input_tokens=512, token_count: 88",
    "token = next_token()",
    "token = self.lexer.token2",
    "token: 2026-11-14T10:00:00Z",
    "def login(user: str, password: str, token: str | None = None) -> None:",
    "password = getpass.getpass('Password: ')",
    "password=password, secret=secret",
    "PASSWORD=$DB_PASSWORD TOKEN=${TOKEN} password: ${{ secrets.DB_PASSWORD }}",
    "password: <your-password>, api_key=YOUR_API_KEY_123",
    "password: ******** and PASSWORD=xxxxxxxx",
    "The password must have 12 characters; password: 8-character minimum is required",
    "secret: /run/secrets/db_password1 and secret_arn: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db1",
    "api_key = os.environ['API_KEY_V2']",
    "apiKey: process.env.API_KEY2",
    "WHERE password = :password1 AND token = ?",
    "http://localhost:8080/path@v2 and https://user@host:8443/x, git@github.com:acme/repo1.git",
    "postgresql://app:${DB_PASSWORD}@db/orders",
    "docker run -u 1000:1000 image and chown -R app:app /srv",
    "Authorization: Bearer ${TOKEN} or Authorization: required",
    "grep -r 'BEGIN PRIVATE KEY' . || echo '-----BEGIN PRIVATE KEY-----'",
    "-----BEGIN CERTIFICATE-----\n" + BODY + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + BODY + "\n-----END PUBLIC KEY-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + MIXED[:43] + " dev@host",
    "npm_config_registry=https://registry.npmjs.org hf_transformers_cache sk-toggleable__content-fitted",
    "class sk-estimator-doc-link and cache-key-" + LOWER[:32] + " ghp_short hf_model",
    "SKIPPED SKU1234 SG.short.x AKIA is a prefix, eyJ too; ASIA/Pacific",
    "pattern /api/v2/tokens/{id} returns 404; bearer authentication is used",
    "retry budget = 3 per 15-minute window, p99 1,240 ms, port 5432:5432",
    "bypass: true, tests pass: 120, compass = north1",
    "pwd = `~${pwd.slice(home.length)}`; names = ['ASAuthorization', 'ASAuthorizationAppleIDButton']",
    "the token `|>` means that it goes on",
]


@pytest.mark.parametrize(("family", "token"), TOKENS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(TOKENS)])
def test_mask_token_of_a_family_is_replaced_whole(family: str, token: str) -> None:
    """P11: wherever a token stands, its mask stands there instead, and what is around it stays."""
    form = f"[masked:{family}]"
    for left, right in [
        ("", ""),
        ("use ", " now"),
        ('"', '"'),
        ("(", ")."),
        ("x=", "\n"),
        ("é", "é"),
        ("\\n", "\\n"),
        ("`", "`,"),
    ]:
        assert mask(left + token + right) == left + form + right
    assert mask(f"{token} {token}") == f"{form} {form}"


@pytest.mark.parametrize(("family", "text", "secret"), CONTEXTS, ids=[f"{row[0]}-{i}" for i, row in enumerate(CONTEXTS)])
def test_mask_secret_in_its_context_is_replaced_alone(family: str, text: str, secret: str) -> None:
    """P11: the key, the user and the host stay readable; only the secret goes."""
    assert mask(text.format(secret)) == text.format(f"[masked:{family}]")
    assert mask("  " + text.format(secret) + "\n") == "  " + text.format(f"[masked:{family}]") + "\n"


def test_mask_every_family_has_an_example() -> None:
    """A family that no example reaches may never have masked anything."""
    names = {family.name for family in FAMILIES}
    assert names == {name for name, _ in TOKENS} | {name for name, _, _ in CONTEXTS}
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)
    reached = [text for _, text in TOKENS] + [text.format(secret) for _, text, secret in CONTEXTS]
    unreached = [
        family.name
        for family in FAMILIES
        if not any(
            trigger in (text.lower() if family.folded else text).encode() for text in reached for trigger in family.triggers
        )
    ]
    assert unreached == []


@pytest.mark.parametrize("text", FACTS)
def test_mask_ordinary_text_is_unchanged(text: str) -> None:
    """Hashes, paths, numbers, code and placeholders are facts; masking them would lose what the ledger is for."""
    assert mask(text) == text


def test_mask_lengths_of_secrets_do_not_show() -> None:
    assert mask("DB_PASSWORD=" + "a1" * 4) == mask("DB_PASSWORD=" + "b2" * 40)


def test_mask_token_inside_an_assignment_leaves_nothing_over() -> None:
    token = "gh" + "p_" + MIXED[:36]
    assert mask(f'token: "{token}"') == 'token: "[masked:github-token]"'
    assert mask(f"DB_PASSWORD={token}!tail") == "DB_PASSWORD=[masked:password]"


def test_mask_copies_that_differ_in_secrets_only_become_equal() -> None:
    one, other = (f"login with sk-{'proj'}-{MIXED[i : i + 60]} please" for i in (0, 7))
    assert one != other
    assert mask(one) == mask(other)


@pytest.mark.parametrize("text", ["", "\ud800", "\udfff\ud800 x", "a\x00b", "\u2028\u202e", "𐍈" * 10, "ſecret = K8Kelvin"])
def test_mask_odd_text_is_unchanged(text: str) -> None:
    assert mask(text) == text


def test_mask_secret_beside_odd_characters_keeps_them() -> None:
    token = "gh" + "p_" + MIXED[:36]
    assert mask(f"\ud800{token}\udfff𐍈") == "\ud800[masked:github-token]\udfff𐍈"
    assert mask("PASSWORD=pässwörd𐍈 ok") == "PASSWORD=[masked:password] ok"


def test_mask_form_in_the_input_stays_as_it_is() -> None:
    text = "password: [masked:password] and [masked:url-password]: x1y2z3w4 [masked:unheard-of]"
    assert mask(text) == text


PIECES = (
    [token for _, token in TOKENS]
    + [text.format(secret) for _, text, secret in CONTEXTS]
    + FACTS
    + [
        "password",
        "token=",
        "secret: ",
        '"',
        "'",
        "\\",
        "-----",
        "://",
        ":",
        "@",
        "[masked:password]",
        "[masked:jwt]",
        "[masked:",
        "]",
        "=",
    ]
    + [
        "--",
        " ",
        "\n",
        "\\n",
        ",",
        ";",
        "$",
        "(",
        "[",
        "{",
        "_",
        "x",
        "9",
        "é",
        "\ud800",
        ".",
        "-",
        "Bearer ",
        "Cookie: ",
        "-u a:",
        "%3D",
    ]
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map("".join))
@example("password: hunter2 " + TOKENS[14][1])
def test_mask_of_masked_text_changes_nothing(text: str) -> None:
    """Masking is idempotent: a copy that was masked elsewhere is a duplicate (P3)."""
    once = mask(text)
    assert mask(once) == once


@given(st.text(max_size=200))
def test_mask_never_raises_and_is_the_same_twice(text: str) -> None:
    assert mask(text) == mask(text)


@pytest.mark.parametrize(
    "unit",
    [
        "token=abc9 ",
        'password="',
        "eyJaaaaaaaa-",
        "-----BEGIN PRIVATE KEY-----\n",
        "://a:b",
        "sk-ant-",
        "xoxb-",
        "hvs.",
        "$6$",
        "pass ",
    ],
)
def test_mask_hostile_repetition_ends(unit: str) -> None:
    """A megabyte of openings without an end: no pattern starts over at each of them."""
    assert isinstance(mask(unit * (1_000_000 // len(unit))), str)


def test_mask_version_names_the_masked_forms() -> None:
    assert re.fullmatch(r"m[0-9]+", MASK_VERSION)
