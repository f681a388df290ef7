"""Ordinary text of people and agents is left alone: a false alarm would refuse a save."""

import base64
import hashlib
import random
import uuid

import pytest

from mash_plugin.privacy.credentials import SHORT_CHARS, credential_kind, mask

PROSE = """
We use Postgres 16 for the ledger, decided.
The API key stays in the vault; nobody pastes it.
Rotate the token every 30 days, and the secret every 90 days.
The secret: small modules and no frameworks at all.
the key: everything stays local
Password: at least 12 characters with 2 digits.
Passwords are hashed with argon2id, never with sha256 alone.
The password is hashed with bcrypt-12 before it is stored.
The password is checked in src/auth/login2.py.
password: argon2id
password: bcrypt-10-rounds
password: see-issue-42
secret: base64-encoded
token: OAuth2Token
token: OAuth2BearerToken
token: JWT (RS256)
token: x509-certificate
token: v2_access_token
api_key: X-API-Key-v2
signing key: ed25519-2024
secret: db-credentials-2
secret: projects/12/secrets/stripe-webhook-2
the access key: F2 opens the menu
Tokens: 128000 in, 4096 out
max_tokens=4096, total_tokens: 12345678
next page token: page-2-of-10
The token is step-2-of-3 in the flow.
Use Bearer authentication-with-short-lived-tokens for the API.
bearer token-based-authorization-flow
We moved the secret manager to region eu-west-1 in 2026-11.
Cache key: user:123456:profile:v2
Set the primary key: invoice_id2 and the foreign key: ledger_id2.
We chose key=value2026 pairs for the log lines.
密码：至少12个字符，包含数字。
密码必须每90天更换一次。
密钥：保存在保险库里
Le mot de passe : au moins 12 caractères
Пароль: не менее 12 символов
Keys begin with -----BEGIN PRIVATE KEY----- and are never committed.
A GitHub token looks like ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.
An Anthropic key looks like sk-ant-your-key-goes-right-here.
OPENAI_API_KEY=sk-your-key-here-please
task-force, disk-usage, sk-learn, risk-assessment-of-the-new-payment-provider
scio, precious, npm_config_registry, hf_hub_download, pypi-publish
docker run -u 1000:1000 image; ls --token-file /run/secrets/token1
mash records --key src/ledger2.py --token limit
pwd: /home/dev/app2/src
PWD=/home/dev/project1
See https://example.org/a:b/c and http://localhost:8080/x@y and a@b.example.
postgres://user:password@localhost/db and postgres://postgres:postgres@db/app
postgres://ledger:$PASSWORD@db.example/ledger and redis://:${REDIS_PASSWORD}@cache
git@github.com:acme/shop.git and ssh://git@github.com:22/acme/shop
docker://registry.example:5000@sha256
The SHA is bb313b63313848ffdf6207f8e09fd05f32ec3b14.
message msg_01a22b44-f946-7820-a4d2-a6d0d73d2995, tool toolu_01A09q90qw90lq917835lq9
node_modules/.pnpm/@types+node@20.11.5/node_modules/@types/node/index.d.ts
src/very/long/path/with-many-parts/and_under_scores/Module2026Final.test.tsx
internationalization2accessibility supercalifragilisticexpialidocious
AbstractSingletonProxyFactoryBean2ImplementationDetailsWithLongName
sha512-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/abcdefghijklmnopqr==
""".strip().splitlines()

SAID = """
The token is in vault/kv/team-2 and the password: auth-service-v2.
Use token authentication-v2-handler2024 and the secret rotation2024plan.
The private key is ed25519 based, the API key is documentation-page-2026.
Store the secret in kubernetes1234secretstore.
""".strip().splitlines()

CODE = """
mysql -u ledger -p ledger2026 and mysql --port=3306 -u ledger -p
password = getpass()
password = getpass.getpass("Password for user2: ")
password = config_v2.password
password=$DB_PASSWORD
password: str
password: str | None = None, token: str = ""
def login(user: str, password: str, token2: str) -> Token2Response:
token = refresh_token
token = get_token_v2()
token = tokens[index2]
token = await client2.fetch_token(scope=SCOPE_2)
const token = useSelector(selectAuthToken2);
token: string; secret: Uint8Array; key: CryptoKey2
token = self._tokens2.pop()
secret = os.environ["STRIPE_SECRET_2024"]
secret = ${{ secrets.NPM_TOKEN_2 }}
secret: !vault1 |
api_key = settings.openai_api_key2
apiKey: process.env.OPENAI_API_KEY_V2
api_key=%(API_KEY_1)s
private_key = ec.generate_private_key(ec.SECP256R1())
Key = rust_openssl.hpke.MLKEM1024P384PrivateKey
if token == "refresh_token_2":
assert password != expected_password2
password: {{ vault_password_2 }}
<input type="password" name="password2" value="">
secretKeyRef: {name: db-credentials-2, key: password}
SELECT token FROM tokens2 WHERE token = :token2
UPDATE users SET password = crypt($1, gen_salt('bf', 12))
eyJhbGciOiJub25lIn0 is the header alone
""".strip().splitlines()


@pytest.mark.parametrize("text", [*PROSE, *SAID, *CODE, ""])
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert mask(text) == text
    assert credential_kind(text) is None


def test_hashes_and_ids_are_left_alone() -> None:
    for number in range(300):
        seed = str(number).encode()
        unique = uuid.uuid5(uuid.NAMESPACE_URL, str(number))
        for text in (
            hashlib.md5(seed, usedforsecurity=False).hexdigest(),
            hashlib.sha1(seed, usedforsecurity=False).hexdigest(),
            f"sha256:{hashlib.sha256(seed).hexdigest()}",
            f"integrity sha512-{base64.b64encode(hashlib.sha512(seed).digest()).decode()}",
            f"chat claude-code-{unique}",
            f"etag W/{unique.hex}, cache-key-{unique.hex}, commit {unique.hex}{unique.hex[:8]}",
        ):
            assert credential_kind(text) is None, text


def test_images_in_base64_are_left_alone() -> None:
    """Among so many random letters all but the shortest beginnings are too rare to be met."""
    drawn, masked = random.Random(7), 0  # noqa: S311 - repeatable
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        image = encode(drawn.randbytes(1_500_000)).decode()
        assert credential_kind(f"data:image/png;base64,{image[:100_000]}") is None
        masked += mask(f"data:image/png;base64,{image}").count("[masked")
        masked += mask("\n".join(image[n : n + 76] for n in range(0, 400_000, 76))).count("[masked")
    assert masked <= 2


def test_all_of_it_together_is_left_alone() -> None:
    """What stands on the next line does not make a secret of a line."""
    text = "\n".join([*PROSE, *CODE]) * 5
    assert len(text) > SHORT_CHARS
    assert mask(text) == text
