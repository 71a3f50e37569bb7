"""The durable record of what each data set has spent, and its lifetime cap."""
