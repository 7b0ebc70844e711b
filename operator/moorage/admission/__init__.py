"""Admission: the policies that the API server runs by itself, and the webhook that explains."""
