"""Single sign-on against a small provider of the test's own: what fits opens a session, and nothing else does."""

import hashlib
import hmac
import json
import time
import warnings
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from joserfc import jwt
from joserfc.errors import SecurityWarning
from joserfc.jwk import OKPKey, RSAKey
from joserfc.jws import JWSRegistry
from pydantic import SecretStr
from tests.office import Office, open_office
from tests.serving import serving

from discreet.mechanisms.rng import token
from discreet_service.access import sign_on
from discreet_service.access.roles import Principal, Role
from discreet_service.schemas import UserChange, UserIn
from discreet_service.settings import SignOn, read_settings
from discreet_service.use_cases import people

CLIENT, SECRET = "the office", "not a secret"
KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}, auto_kid=False)
EDWARDS = OKPKey.generate_key("Ed25519", {"kid": "two", "use": "sig"}, auto_kid=False)
OTHER = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}, auto_kid=False)


def signed_well(claims: dict[str, Any]) -> str:
    """Sign as the provider does."""
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, KEY)


class Provider:
    """Signs in whom the test says, and says of them what the test says.

    Attributes
    ----------
    claims : dict
        Instead of the right ones; None leaves one out.
    """

    def __init__(self) -> None:
        self.address = ""
        self.claims: dict[str, Any] = {}
        self.discovery: dict[str, Any] = {}
        self.signed: Any = signed_well
        self.asked: dict[str, Any] = {}
        self._codes: dict[str, dict[str, str]] = {}
        self.app = FastAPI()
        self.app.get("/.well-known/openid-configuration")(self.describe)
        self.app.get("/keys")(lambda: {"keys": [key.as_dict(private=False) for key in (KEY, EDWARDS)]})
        self.app.post("/token")(self.exchange)

    def describe(self) -> dict[str, Any]:
        """Say where the doors are."""
        doors = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        found = {"issuer": self.address, **{name: f"{self.address}/{path}" for name, path in doors.items()}}
        return found | self.discovery

    def authorize(self, address: str, **changes: str) -> str:
        """Do what the provider does when somebody has signed in there: return the query to come back with."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = token()
        self._codes[code] = query
        return urlencode({"code": code, "state": query["state"]} | changes)

    async def exchange(self, request: Request) -> Any:
        """Give a token for a code, once, to who can show the verifier and the secret."""
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.asked = {**form, "authorization": request.headers.get("authorization", "")}
        query = self._codes.pop(form.get("code", ""), None)
        challenge = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if query is None or challenge != query["code_challenge"] or form["redirect_uri"] != query["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "sub": "person-1", "iat": now, "exp": now + 300}
        claims |= {"nonce": query["nonce"]} | self.claims
        return {"id_token": self.signed({name: value for name, value in claims.items() if value is not None})}


@pytest.fixture(scope="module")
def there() -> Iterator[Provider]:
    """A provider on a port of this machine."""
    made = Provider()
    with serving(made.app) as address:
        made.address = address
        yield made


@pytest.fixture(scope="module")
def here(there: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """An office that trusts the provider, with accounts for person-1 and, disabled, person-2."""
    asked = SignOn(issuer=there.address, client_id=CLIENT, client_secret=SecretStr(SECRET))
    with open_office(tmp_path_factory.mktemp("office"), sign_on=asked, url="http://localhost") as found:
        for name, subject in (("anna", "person-1"), ("gone", "person-2"), ("mia", "mia@example.org")):
            people.add_account(found.context, "setup", UserIn(name=name, role=Role.ANALYST, subject=subject))
        people.change_account(found.context, Principal("ada", Role.ADMIN), "gone", UserChange(disabled=True))
        found.client.follow_redirects = False
        yield found


@pytest.fixture
def provider(there: Provider) -> Provider:
    """The provider, as it should be."""
    there.claims, there.discovery, there.asked, there.signed = {}, {}, {}, signed_well
    sign_on._metadata_cache.clear()
    return there


@pytest.fixture
def office(here: Office, provider: Provider) -> Iterator[Office]:
    """The office, seen by a browser that was never there."""
    before = here.context.settings
    here.client.cookies.clear()
    yield here
    object.__setattr__(here.context, "settings", before)


def change(office: Office, **fields: Any) -> None:
    """Set single sign-on up in another way, for one test."""
    settings = office.context.settings
    changed = settings.model_copy(update={"sign_on": settings.sign_on.model_copy(update=fields)})
    object.__setattr__(office.context, "settings", changed)


def gone_to(office: Office, next_: str = "/requests") -> str:
    """Begin; return the provider's address."""
    found = office.client.get("/sign-on", params={"next": next_})
    assert found.status_code == 303, found.text
    return str(found.headers["location"])


def come_back(office: Office, query: str) -> Any:
    return office.client.get(f"{sign_on.RETURN_PATH}?{query}")


def is_signed_in(office: Office) -> bool:
    return bool(office.client.get("/account").status_code == 200)


def refused(office: Office, answer: Any, *words: str) -> None:
    """A page says what is wrong, and nobody is signed in."""
    assert answer.status_code == 403, answer.text
    assert all(word in answer.text for word in words), answer.text
    assert "Traceback" not in answer.text
    assert SECRET not in answer.text
    assert not is_signed_in(office)


def test_who_signs_in_there_is_signed_in_here(office, provider):
    """The account with the subject gets a session and is sent where it wanted to go; others' are not touched."""
    address = gone_to(office)
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert address.startswith(f"{provider.address}/authorize?")
    assert query["response_type"] == "code"
    assert query["scope"] == "openid"
    assert query["code_challenge_method"] == "S256"
    assert query["redirect_uri"] == "http://localhost/sign-on/return"
    answer = come_back(office, provider.authorize(address))
    assert (answer.status_code, answer.headers["location"]) == (303, "/requests")
    assert "anna" in office.client.get("/account").text
    assert provider.asked["authorization"].startswith("Basic ")
    assert "client_secret" not in provider.asked


@pytest.mark.parametrize("algorithm", ["EdDSA", "Ed25519"])
def test_both_names_of_a_signature_by_a_curve_are_taken(office, provider, algorithm):
    """The older one leaves no warning in the log of the server, which could do nothing about it."""
    provider.signed = lambda claims: jwt.encode(
        {"alg": algorithm, "kid": "two"}, claims, EDWARDS, registry=JWSRegistry(algorithms=["Ed25519", "EdDSA"])
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", SecurityWarning)
        come_back(office, provider.authorize(gone_to(office)))
    assert is_signed_in(office)
    assert len(seen) == (algorithm == "EdDSA")  # of the provider, which signs


def test_a_secret_in_the_form_where_the_provider_takes_no_other(office, provider):
    """A provider that takes the secret in the form alone gets it there."""
    provider.discovery = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert come_back(office, provider.authorize(gone_to(office))).status_code == 303
    assert (provider.asked["client_secret"], provider.asked["authorization"]) == (SECRET, "")


def test_cookies_are_out_of_reach(office, provider):
    """The cookie of an attempt is HttpOnly, goes with a link back, and is gone after use."""
    begun = office.client.get("/sign-on")
    cookie = begun.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    answer = come_back(office, provider.authorize(begun.headers["location"]))
    assert answer.status_code == 303
    assert 'discreet-sign-on=""; ' in str(answer.headers.get_list("set-cookie"))


def test_the_way_back_leads_nowhere_else(office, provider):
    """No address of another server can be given as the place to go to."""
    for place in ("https://example.org/", "//example.org", "/\\example.org", "javascript:alert(1)"):
        assert come_back(office, provider.authorize(gone_to(office, place))).headers["location"] == "/"


WRONG_CLAIMS = {
    "nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "audience": {"aud": "another office"},
    "audiences": {"aud": ["another office", "a third"]},
    "no audience": {"aud": None},
    "authorized party": {"aud": [CLIENT, "another office"], "azp": "another office"},
    "shared audience": {"aud": [CLIENT, "another office"]},
    "issuer": {"iss": "https://example.org"},
    "expired": {"iat": 1_700_000_000, "exp": 1_700_000_300},
    "no expiry": {"exp": None},
    "of the future": {"iat": 4_000_000_000, "exp": 4_000_000_300},
    "no subject": {"sub": None},
    "subject of another kind": {"sub": 1},
    "empty subject": {"sub": ""},
}


@pytest.mark.slow
@pytest.mark.parametrize("claims", WRONG_CLAIMS.values(), ids=WRONG_CLAIMS)
def test_a_token_that_does_not_fit(office, provider, claims):
    """A token for another, of another, or not of now opens nothing."""
    provider.claims = claims
    refused(office, come_back(office, provider.authorize(gone_to(office))), "does not fit")


def _unsigned(claims: dict[str, Any]) -> str:
    def part(value: Any) -> str:
        return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}."


SIGNED = {
    "none": _unsigned,
    "another key": lambda claims: jwt.encode({"alg": "RS256", "kid": "one"}, claims, OTHER),
    "unknown key": lambda claims: jwt.encode({"alg": "RS256", "kid": "three"}, claims, OTHER),
    "changed": lambda claims: jwt.encode({"alg": "RS256", "kid": "one"}, claims, KEY)[:-6] + "AAAAAA",
    "no token": lambda claims: "...",
}


@pytest.mark.parametrize("signed", SIGNED.values(), ids=SIGNED)
def test_a_token_that_the_provider_did_not_sign(office, provider, signed):
    """Without a signature by a key of the provider's, a token is no token."""
    provider.signed = signed
    refused(office, come_back(office, provider.authorize(gone_to(office))), "does not fit")


def test_a_token_signed_with_what_everybody_knows(office, provider):
    """The public key, taken for the secret of a symmetric signature, signs nothing."""
    public = KEY.as_pem(private=False)

    def signed(claims: dict[str, Any]) -> str:
        head = _unsigned(claims).split(".")[1]
        start = urlsafe_b64encode(b'{"alg":"HS256","kid":"one"}').decode().rstrip("=") + "." + head
        seal = hmac.new(public, start.encode(), hashlib.sha256).digest()
        return f"{start}.{urlsafe_b64encode(seal).decode().rstrip('=')}"

    provider.signed = signed
    refused(office, come_back(office, provider.authorize(gone_to(office))), "does not fit")


def test_a_state_of_another_browser(office, provider):
    """An answer that this browser did not ask for is refused before the provider is asked."""
    query = provider.authorize(gone_to(office), state="another")
    refused(office, come_back(office, query), "not begun in this browser")
    query = provider.authorize(gone_to(office))
    office.client.cookies.clear()
    refused(office, come_back(office, query), "not begun in this browser")
    assert provider.asked == {}


def test_a_cookie_that_somebody_made(office, provider):
    """An attempt that this service did not seal, or that is over, is none."""
    query = provider.authorize(gone_to(office))
    text, _, seal = office.client.cookies["discreet-sign-on"].partition(".")
    for made in (f"{text}x.{seal}", f"{text}.{'0' * 64}", text, "", "."):
        office.client.cookies.clear()
        office.client.cookies.set("discreet-sign-on", made)
        refused(office, come_back(office, query), "not begun in this browser")


def test_an_attempt_that_took_too_long(office, provider, monkeypatch):
    """After ten minutes one begins again."""
    query = provider.authorize(gone_to(office))
    kept = office.client.cookies["discreet-sign-on"]
    office.client.cookies.clear()
    office.client.cookies.set("discreet-sign-on", kept)  # whatever the browser thinks of its age
    later = time.time() + sign_on.TIMEOUT_S + 1
    monkeypatch.setattr("discreet_service.access.sign_on.time.time", lambda: later)
    answer = come_back(office, query)
    assert answer.status_code == 403
    assert "too long ago" in answer.text


def test_an_answer_of_another_provider(office, provider):
    """An answer that names another issuer is not this provider's."""
    refused(office, come_back(office, provider.authorize(gone_to(office), iss="https://example.org")), "does not fit")


def test_a_code_serves_once(office, provider):
    """A code that was used, or that nobody gave, is refused by the provider, and so here."""
    query = provider.authorize(gone_to(office))
    assert come_back(office, query).status_code == 303
    office.client.cookies.delete("discreet")
    refused(office, come_back(office, query), "not begun in this browser")
    query = provider.authorize(gone_to(office), code="made-up")
    refused(office, come_back(office, query), "does not answer")


def test_a_provider_that_declines(office, provider):
    """What the provider says of its refusal is not repeated: anybody could write it."""
    query = provider.authorize(gone_to(office), error="access_denied", error_description="<script>alert(1)</script>")
    answer = come_back(office, query)
    refused(office, answer, "did not sign you in")
    assert "alert(1)" not in answer.text


def test_no_account_is_made(office, provider):
    """Somebody without an account learns the subject that an admin needs, and nothing of others."""
    before = [one.name for one in people.accounts(office.context)]
    provider.claims = {"sub": "stranger"}
    answer = come_back(office, provider.authorize(gone_to(office)))
    refused(office, answer, "No account here is yours", "stranger")
    assert not any(name in answer.text for name in before)
    assert [one.name for one in people.accounts(office.context)] == before


def test_a_disabled_account_looks_like_none(office, provider):
    """Whether there once was an account is not told."""
    texts = []
    for subject in ("person-2", "person-9"):
        provider.claims = {"sub": subject}
        answer = come_back(office, provider.authorize(gone_to(office)))
        refused(office, answer, "No account here is yours")
        texts.append(answer.text.replace(subject, ""))
    assert texts[0] == texts[1]


def test_an_address_that_was_not_verified(office, provider):
    """An e-mail address names somebody only where the provider says that it is theirs."""
    change(office, claim="email")
    provider.claims = {"email": "mia@example.org"}
    address = gone_to(office)
    assert parse_qs(urlsplit(address).query)["scope"] == ["openid email"]
    refused(office, come_back(office, provider.authorize(address)), "verified your e-mail")
    provider.claims = {"email": "mia@example.org", "email_verified": True}
    assert come_back(office, provider.authorize(gone_to(office))).status_code == 303
    assert "mia" in office.client.get("/account").text


@pytest.mark.parametrize(
    "discovery",
    [{"issuer": "https://example.org"}, {"authorization_endpoint": "http://example.org/authorize"}],
    ids=["another issuer", "an open address"],
)
def test_a_provider_that_cannot_be_trusted(office, provider, discovery):
    """The provider must say that it is who was meant, and every address must be closed to others."""
    provider.discovery = discovery
    refused(office, office.client.get("/sign-on"))


def test_a_provider_that_is_away(office):
    """Without the provider, the page says so."""
    change(office, issuer="http://127.0.0.1:9")
    refused(office, office.client.get("/sign-on"), "does not answer")


def test_a_new_session_ends_the_one_before(office, provider):
    """A session that the browser had is over when another one begins."""
    come_back(office, provider.authorize(gone_to(office)))
    before = office.client.cookies["discreet"]
    come_back(office, provider.authorize(gone_to(office)))
    assert office.client.cookies["discreet"] != before
    office.client.cookies.clear()
    office.client.cookies.set("discreet", before)
    assert not is_signed_in(office)


def test_without_single_sign_on(tmp_path):
    """A service that has none says so."""
    with open_office(tmp_path) as office:
        for path in ("/sign-on", sign_on.RETURN_PATH):
            assert "must be set up" in office.client.get(path).text


def test_the_secret_stands_in_a_file_of_its_own(tmp_path):
    """The service file names the client's secret, and nothing shows it."""
    (tmp_path / "pepper").touch(mode=0o600)
    (tmp_path / "pepper").write_text("x" * 40)
    (tmp_path / "client_secret").write_text("hidden\n")
    file = tmp_path / "service.yaml"
    lines = ["schema: discreet/service@1", "database: a.sqlite", "pepper_file: pepper", "witness: null", "sign_on:"]
    lines += ["  issuer: https://example.org", "  client_id: office", "  client_secret_file: client_secret"]
    file.write_text("\n".join(lines))
    found = read_settings(file).sign_on
    assert found is not None
    assert found.client_secret.get_secret_value() == "hidden"
    assert "hidden" not in repr(found)
