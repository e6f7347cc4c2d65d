from __future__ import annotations

import subprocess
import sys

import pytest

import fastrag.testing


def test_every_name_is_there_and_no_other() -> None:
    for name in fastrag.testing.__all__:
        assert getattr(fastrag.testing, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = fastrag.testing.Nothing


def test_the_fakes_do_not_load_pytest_or_any_extra() -> None:
    heavy = "{'pytest', 'hypothesis', 'openai', 'fastembed', 'onnxruntime', 'tantivy', 'lancedb'}"
    code = f"import sys, fastrag.testing; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
