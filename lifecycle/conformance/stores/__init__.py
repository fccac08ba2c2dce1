"""The suite that every store passes, memory and SQLite as much as yours.

    import pytest
    from lifecycle.conformance.stores import StoreSuite

    class TestMine(StoreSuite):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path):
            self.path = tmp_path / "jobs"

        def open(self, clock):
            return MyStore(self.path, clock)

Durability against a killed process, a full disk or a broken connection is a store's own, and so are the tests of it.
"""

from lifecycle.conformance.stores.keeping import Keeping
from lifecycle.conformance.stores.listing import Listing
from lifecycle.conformance.stores.purging import Purging
from lifecycle.conformance.stores.racing import Racing


class StoreSuite(Keeping, Listing, Purging, Racing):
    """Each guarantee of `lifecycle.law.log.Store`, as a test that pytest runs; give it `open`, and nothing else."""
