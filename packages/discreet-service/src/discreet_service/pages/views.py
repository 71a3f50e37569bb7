"""From a template and facts to a page. Whatever is put into a page is escaped; there is no way around it."""

from collections.abc import Callable
from functools import cache
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from discreet.report.chances import is_weak, worst_posterior
from discreet.report.words import at_least, at_most, listed, number, percent_at_most, setting, thousands, visible
from discreet_service.pages.assets import asset
from discreet_service.pages.method_choices import title_of

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content security policy of every page: no script, style or picture that is not a file of this server."""

FACTS = {"dataset": "data set", "metadata_sha256": "metadata", "sha256": "digest"}
"""Names of an audit entry's facts, as a page has them; other names are words."""


def visible_text(value: Any) -> Any:
    """Escape the characters of a text that cannot be seen, or turn its direction; other values stay."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return "\n".join(visible(line) for line in value.split("\n"))


def _apart(write: Callable[..., str]) -> Callable[..., str]:
    """Return a filter that writes a number with its thousands apart."""
    return lambda *values: thousands(write(*values))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("discreet_service", "pages/templates"),
        autoescape=True,
        finalize=visible_text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": _apart(number),
        "at_most": _apart(at_most),
        "fact": lambda name: FACTS.get(name, name),
        "is_weak": is_weak,
        "worst_of_half": lambda epsilon: percent_at_most(worst_posterior(epsilon, 0.5)),
        "at_least": _apart(at_least),
        "listed": listed,
        "setting": setting,
        "thousands": thousands,
        "method": title_of,
    }
    environment.globals |= {"asset": asset}
    return environment


def html(template: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """Return a page under the policy that nothing but files of this server runs."""
    text = _environment().get_template(f"{template}.html.j2").render(**facts)
    return HTMLResponse(text, status, {"Content-Security-Policy": POLICY})
