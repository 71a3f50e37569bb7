"""The service's pages: HTML around the use cases, for people with a browser; they work with scripts off, too."""

from fastapi import FastAPI

from discreet_service.pages import (
    api_page,
    assets,
    audit,
    datasets,
    decisions,
    errors,
    home,
    metadata,
    people,
    plans,
    releases,
    requests,
    sign_in,
    sign_on,
    users,
)
from discreet_service.pages.errors import problem_for as problem_for

ROUTERS = (
    assets.router,
    sign_in.router,
    sign_on.router,
    home.router,
    datasets.router,
    plans.router,
    requests.router,
    decisions.router,
    releases.router,
    people.router,
    users.router,
    audit.router,
    metadata.router,
    api_page.router,
)
"""All routes of the pages, below /."""


def add_pages(app: FastAPI) -> None:
    """Add the pages to a server whose API answers errors as problems."""
    for router in ROUTERS:
        app.include_router(router, include_in_schema=False)
    errors.handle(app)
