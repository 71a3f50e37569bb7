"""Every parameter of a request, written once: its range, its unit, what it means, its default."""
