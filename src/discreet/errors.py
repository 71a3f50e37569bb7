"""Every error that Discreet raises on purpose.

A message says what must hold, then what was found, then what to do. Its text is built from public facts alone:
parameters, metadata and the header of a table, never a cell, a count or a range of a private table.
"""

from fractions import Fraction


class DiscreetError(Exception):
    """What every error of Discreet is."""


class InvalidParameterError(DiscreetError, ValueError):
    """A parameter of a request is outside its range."""


class NotInstalledError(InvalidParameterError, ImportError):
    """What is asked for comes with another package of Discreet, which is not there."""

    def __init__(self, content: str, package: str) -> None:
        super().__init__(f"{content} is not installed. Install it: pip install {package}")


class MetadataError(DiscreetError, ValueError):
    """The public description of a table is missing something or contradicts itself."""


class DataMismatchError(DiscreetError, ValueError):
    """A table does not have the shape that its metadata declares.

    Raised from public facts only: the header, the columns' storage types, the number of rows where it is public.
    """


class UnsupportedEventError(DiscreetError, TypeError):
    """Accounting was asked about an event whose guarantee it does not know."""


class BudgetError(DiscreetError, RuntimeError):
    """The ledger refuses: no cap, another unit or relation, or no ledger can be reached."""


class UnreachableError(BudgetError):
    """A database cannot be used: where it is and why is for whoever runs it, not for who calls a service."""


class BudgetExceededError(BudgetError):
    """A request costs more than what is left of a data set's lifetime cap.

    Parameters
    ----------
    message : str
        What must hold, what was found, what to do.
    requested : Fraction
        Epsilon asked for.
    remaining : Fraction
        Epsilon left.
    """

    def __init__(self, message: str, requested: Fraction, remaining: Fraction) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class ComputationFailedError(DiscreetError, RuntimeError):
    """A private computation ended without a result after its data were opened.

    Its text is one constant: why it failed may depend on the rows. The charge stands.
    """

    MESSAGE = (
        "The computation ended without a result after the data were opened. "
        "What was charged stays charged. The owner of the data can see the cause with DISCREET_OWNER_LOG=FILE."
    )

    def __init__(self) -> None:
        super().__init__(self.MESSAGE)


class VerificationError(DiscreetError, RuntimeError):
    """A stored record is not what was written: the ledger's chain or a release's digest does not fit."""


class PolicyError(DiscreetError, RuntimeError):
    """The request is well formed but not allowed, such as charging a release that is not private."""


class NotSignedInError(DiscreetError, PermissionError):
    """A service does not know who is asking: no key or session, or one that is not valid."""


class ForbiddenError(DiscreetError, PermissionError):
    """A service knows who is asking, and they may not."""


class NotFoundError(DiscreetError, LookupError):
    """There is no such thing, or it is not shown to who is asking: the two look alike."""


class ConflictError(DiscreetError, RuntimeError):
    """What is asked does not fit the state that the thing is in: it was changed, decided or taken before."""


class TooManyRequestsError(DiscreetError, RuntimeError):
    """Somebody asks more often than a service allows."""


class ServiceError(DiscreetError, ConnectionError):
    """A service cannot be reached, or does not answer as one."""


class WaitingError(DiscreetError, TimeoutError):
    """A request to a service has no outcome yet: it waits for a curator's decision, or for its turn."""
