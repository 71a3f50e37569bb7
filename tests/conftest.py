"""What holds for all tests."""

from hypothesis import HealthCheck, settings

from tests.servers import postgres

__all__ = ["postgres"]

# The same examples on every machine, however busy it is: a failure is a failure of the code.
settings.register_profile("discreet", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("discreet")
