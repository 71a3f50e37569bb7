"""The service's commands: the server, the worker, and what asks them from elsewhere."""
