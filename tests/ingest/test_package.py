from __future__ import annotations

import subprocess
import sys

import pytest

import fastrag.ingest


def loaded_after(code: str) -> set[str]:
    command = f"{code}\nimport sys\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True).stdout.split()
    )


def test_importing_the_room_loads_none_of_its_libraries() -> None:
    heavy = {"numpy", "pypdf", "docx", "lxml", "resiliparse", "semantic_text_splitter", "sentencex", "tokenizers"}
    heavy |= {"markdown_it", "rich", "msgspec"}
    assert loaded_after("import fastrag.ingest").isdisjoint(heavy | {"asyncio"})
    assert loaded_after("from fastrag.ingest import *").isdisjoint(heavy - {"numpy", "msgspec"})


def test_every_name_is_there() -> None:
    for name in fastrag.ingest.__all__:
        assert getattr(fastrag.ingest, name) is not None
        assert name in dir(fastrag.ingest)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fastrag.ingest.nothing
