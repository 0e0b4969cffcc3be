"""Lets the checks explain themselves when they fail."""

import pytest

pytest.register_assert_rewrite("casechecks", "caseexpect", "caseworld")
