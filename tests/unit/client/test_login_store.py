"""The login that is kept: for its owner's eyes alone, and never sent to another service."""

import stat

import pytest

from discreet.errors import InvalidParameterError, NotSignedInError
from discreet_service.client.login_store import Login, forget, load, save
from discreet_service.client.remote import Remote

LOGIN = Login("https://statistics.example.org", "dk_a_secretword")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Settings of the test's own."""
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("DISCREET_URL", "DISCREET_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "discreet"


def test_kept_and_forgotten(folder):
    """What is kept is found again, replaced, and gone when it is forgotten."""
    with pytest.raises(NotSignedInError, match="discreet remote login"):
        load()
    save(Login("https://example.org", "dk_other"))
    path = save(LOGIN)
    assert load() == LOGIN
    assert repr(Remote()) == "Remote('https://statistics.example.org')"
    assert [one.name for one in folder.iterdir()] == [path.name]
    assert forget()
    assert not forget()


def test_nobody_else_may_read_it(folder):
    """File and folder are closed to others; one that was opened is refused."""
    path = save(LOGIN)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    path.chmod(0o640)
    with pytest.raises(InvalidParameterError, match="chmod 600"):
        load()


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', '{"url": 1}', "null"])
def test_a_broken_file(text):
    """A file that is none says how to mend it."""
    path = save(LOGIN)
    path.write_text(text)
    with pytest.raises(InvalidParameterError, match="Log in again"):
        load()


def test_the_environment_comes_first(monkeypatch):
    """Both variables replace what is kept; a key alone is for the service that is kept."""
    save(LOGIN)
    monkeypatch.setenv("DISCREET_KEY", "dk_b_other")
    assert load() == Login(LOGIN.url, "dk_b_other")
    monkeypatch.setenv("DISCREET_URL", "https://example.org")
    assert load() == Login("https://example.org", "dk_b_other")


def test_a_key_is_for_one_service(monkeypatch):
    """The key of one service is not sent to another one."""
    save(LOGIN)
    with pytest.raises(InvalidParameterError, match="address of its service"):
        Remote("https://example.org")
    with pytest.raises(InvalidParameterError, match="url must be given"):
        Remote(key="dk_x_y")
    monkeypatch.setenv("DISCREET_URL", "https://example.org")
    with pytest.raises(NotSignedInError, match="DISCREET_KEY"):
        load()


def test_a_login_does_not_show_its_key():
    """Not in tracebacks with values either."""
    assert "secretword" not in repr(LOGIN)
