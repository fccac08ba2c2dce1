"""The suite's asserts tell what they compared, as those of the tests here do."""

import pytest

for room in ("keeping", "listing", "logs", "racing"):
    pytest.register_assert_rewrite(f"lifecycle.conformance.{room}")
