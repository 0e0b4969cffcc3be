"""Property tests run under one profile: no deadlines (a busy machine is no bug)."""

from hypothesis import HealthCheck, settings

settings.register_profile("palimpsest", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("palimpsest")
