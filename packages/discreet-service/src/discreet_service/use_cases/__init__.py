"""The use cases, which the API and the pages both call."""
