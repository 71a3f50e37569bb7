"""The API: HTTP and JSON around the use cases."""

from discreet_service.api import datasets, operations, people, plans, requests

ROUTERS = (datasets.router, plans.router, requests.router, people.router, operations.router)
"""All routes of the API, below /v1."""
