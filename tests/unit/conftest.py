"""How hard the property tests of the core search: quickly by default, HYPOTHESIS_PROFILE=thorough for minutes."""

import os

from hypothesis import settings

settings.register_profile("quick", max_examples=60, deadline=None)
settings.register_profile("thorough", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
