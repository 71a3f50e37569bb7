"""The service file: what it must hold, and that its errors name places and never secrets."""

import pytest

from discreet.errors import InvalidParameterError
from discreet_service.settings import Settings, read_settings
from discreet_service.setup import set_up, set_up_demo

PEPPER = "this-is-the-secret-pepper"
ROOT = ("private: {tables: private}",)


@pytest.fixture
def file(tmp_path):
    """A service file as `--init` writes it, with a pepper of the test's."""
    made = set_up(tmp_path / "office").file
    (made.parent / "pepper").write_text(PEPPER + "\n")
    made.write_text(made.read_text().replace("url: http://127.0.0.1:8000", "#"))
    return made


def test_what_init_writes_can_be_read(file):
    """The file that is written is valid, its paths are those beside it, and nobody else can read the pepper."""
    found = read_settings(file)
    assert found.secret == PEPPER.encode()
    assert found.database == str(file.parent / "discreet.sqlite")
    assert found.private == {"tables": file.parent / "private"}
    assert found.secure_cookies
    assert (file.parent / "pepper").stat().st_mode & 0o077 == 0
    assert (file.parent / "private").stat().st_mode & 0o077 == 0


def test_a_private_root_may_be_a_database(file):
    """A URL stays as it is, through the settings that a job is given as well; beside it folders are folders."""
    url = "postgresql://reader@db.example.org/clinic?sslmode=verify-full"
    file.write_text(file.read_text().replace(*ROOT, f"private: {{tables: private, warehouse: '{url}'}}"))
    found = read_settings(file)
    assert found.private == {"tables": file.parent / "private", "warehouse": url}
    given = found.model_dump(mode="json") | {"pepper": PEPPER}
    assert Settings.model_validate(given).private == found.private


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("schema: discreet/service@1", "schema: other", "it does not begin with"),
        ("pepper_file: pepper", "pepper: in the file", "must name a pepper_file"),
        ("pepper_file: pepper", "pepper_file: nothing", "pepper file .* cannot be read"),
        ("tick_s: 1", "tick_s: 0", "tick_s"),
        ("slot_s: 60", "slot_s: soon", "slot_s"),
        ("slot_s: 60", "slots: 60", "slots"),
        ("private: {tables: private}", "private: {Tables!: private}", "private"),
        ("public: {tables: public}", "public: {tables: private/open}", "apart from every private one"),
        ("public: {tables: public}", "public: {tables: .}", "apart from every private one"),
        (*ROOT, "private: {db: 'mysql://h/x'}", "private.db: .*postgresql://"),
        (*ROOT, f"private: {{db: 'postgresql://u:{PEPPER}@h/x'}}", "private.db: .*no password"),
        (*ROOT, f"private: {{db: 'postgresql://u:/{PEPPER}@h/x'}}", "private.db: .*no password"),
        (*ROOT, f"private: {{db: 'postgresql://u:?{PEPPER}@h/x'}}", "private.db: .*no password"),
        (*ROOT, f"private: {{db: 'postgresql://u@h/x?password={PEPPER}'}}", "private.db: .*no password"),
        (*ROOT, f"private: {{db: 'postgresql://u@h/x?p%61ssword={PEPPER}'}}", "private.db: .*no password"),
        ("schema:", "schema: [", "must be YAML"),
        ("witness: witness.jsonl", "#", "witness: Field required"),
        ("secure_cookies: true", "secure_cookies: false\nurl: https://office.example", "on this machine alone"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(file, before, after, told):
    """Each mistake is refused with the place where it stands, and no secret is in the text."""
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    with pytest.raises(InvalidParameterError, match=told) as refused:
        read_settings(file)
    assert "\n" not in str(refused.value)
    assert PEPPER not in str(refused.value)


def test_a_short_pepper_is_refused_and_not_shown(file):
    """What seals keys and approvals must be long; what was given is not printed."""
    (file.parent / "pepper").write_text("salt")
    with pytest.raises(InvalidParameterError, match="at least 20 bytes") as refused:
        read_settings(file)
    assert "salt" not in str(refused.value)


def test_settings_do_not_show_their_secret(file):
    """Printing the settings, as a traceback or a log might, does not print the pepper."""
    found = read_settings(file)
    assert PEPPER not in f"{found!r} {found} {found.model_dump_json()}"


def test_a_service_is_set_up_once(file):
    """Setting up again is refused: the pepper and the ledger of the first stay."""
    with pytest.raises(InvalidParameterError, match="set up there already"):
        set_up(file.parent)
    assert (file.parent / "pepper").read_text().strip() == PEPPER


def test_a_service_is_no_demonstration(file):
    """Starting a demonstration in a service's folder is refused: it would give all accounts new passwords."""
    with pytest.raises(InvalidParameterError, match="a folder of its own"):
        set_up_demo(file.parent)


def test_what_everybody_can_read_is_no_pepper(file):
    """A pepper that others on the machine can read is refused; so are the files of a service by their modes."""
    modes = {name: (file.parent / name).stat().st_mode & 0o077 for name in (".", "pepper", "service.yaml", "private")}
    assert set(modes.values()) == {0}
    (file.parent / "pepper").chmod(0o644)
    with pytest.raises(InvalidParameterError, match="chmod o-rwx"):
        read_settings(file)


@pytest.mark.slow
def test_a_demonstration_is_used_again_with_new_passwords(tmp_path):
    """The second start finds the first one's data and accounts; passwords are new, as the old ones are not kept."""
    first = set_up_demo(tmp_path / "demo")
    second = set_up_demo(tmp_path / "demo")
    assert first.passwords.keys() == second.passwords.keys() == {"admin", "analyst", "auditor", "curator"}
    assert not set(first.passwords.values()) & set(second.passwords.values())
