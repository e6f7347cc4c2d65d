import pytest

# So that a failing assertion of the conformance suite shows its values.
pytest.register_assert_rewrite("fastrag.testing.store_conformance")
