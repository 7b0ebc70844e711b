"""Admission: the webhook that explains, and its certificates."""
