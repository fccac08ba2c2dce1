"""Asserts of the shipped suites tell what they compared. Said before any of them is imported."""

import pytest

pytest.register_assert_rewrite("lifecycle.conformance.stores")
