"""Where a key may be sent."""

import pytest

from discreet.errors import InvalidParameterError
from discreet_service.client.address import checked_key, checked_url, is_loopback

GOOD = [
    "https://statistics.example.org",
    "https://statistics.example.org:8443/discreet",
    "http://127.0.0.1:8000",
    "http://localhost:8000",
    "http://[::1]:8000",
    "http://127.9.8.7",
]
BAD = [
    "http://statistics.example.org",
    "http://10.0.0.1:8000",
    "http://localhost.example.org",
    "http://127.0.0.1.example.org",
    "http://0.0.0.0:8000",
    "ftp://example.org",
    "file:///etc/passwd",
    "statistics.example.org",
    "https://",
    "https://ada:word@example.org",
    "https://@example.org",
    "https://example.org/?a=b",
    "https://example.org/#a",
    "https://example.org:port",
    "https://example.org:0",
    "https://exa mple.org",
    "https://example.org\n.evil.org",
    "",
]


@pytest.mark.parametrize("url", GOOD)
def test_addresses_that_are_safe(url):
    """HTTPS anywhere, HTTP on this machine alone."""
    assert checked_url(url) == url
    assert checked_url(f" {url}/ ") == url


@pytest.mark.parametrize("url", BAD)
def test_addresses_that_are_not(url):
    """What others could read, or what is no address, is refused."""
    with pytest.raises(InvalidParameterError) as caught:
        checked_url(url)
    assert "word" not in str(caught.value)


def test_an_address_that_somebody_insists_on():
    """HTTP elsewhere must be asked for by name."""
    assert checked_url("http://10.0.0.1:8000", insecure=True) == "http://10.0.0.1:8000"
    assert not is_loopback("10.0.0.1")


@pytest.mark.parametrize("key", ["", " ", "two words", "a\nb", "caf\u00e9", "a" * 300])
def test_what_can_be_no_key(key):
    """A key is one word; the message does not repeat what was given."""
    with pytest.raises(InvalidParameterError) as caught:
        checked_key(key)
    assert not key.strip() or key.strip() not in str(caught.value)


def test_a_key_from_a_file():
    """The line's end is no part of a key."""
    assert checked_key("dk_a_b\n") == "dk_a_b"
