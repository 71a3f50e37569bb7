"""A ledger in a Python session: what each data set may spend, in decimals."""

from fractions import Fraction

from discreet.ledger import Ledger


def test_accounts_are_shown_as_decimals(tmp_path):
    """The card holds cap and rest; numbers stay exact fractions, and are shown as decimals."""
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        account = ledger.grant("toy", Fraction(1, 4))
        assert account.epsilon_cap == Fraction(1, 4)
        assert "epsilon_cap=0.25" in repr(account)
        assert "Fraction" not in repr(account)
        card = ledger._repr_html_()
        assert "0.25" in card
        assert repr(ledger) == f"<Ledger {ledger.location}>"
