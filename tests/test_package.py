"""What importing fastrag costs and offers."""

import subprocess
import sys

import pytest

import fastrag

HEAVY = {"torch", "pandas", "pyarrow", "scipy", "lancedb", "tantivy", "fastembed", "onnxruntime", "numpy"}
HEAVY |= {"openai", "anthropic", "polars", "jinja2", "rich", "IPython"}


def modules_after(statement):
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return {name.partition(".")[0] for name in output.split()}


@pytest.mark.parametrize("statement", ["import fastrag", "import fastrag.benchmark", "import fastrag.cli"])
def test_nothing_heavy_is_imported(statement):
    assert modules_after(statement) & HEAVY == set()


@pytest.mark.parametrize("room", ["ingest", "embedding", "store", "retrieval", "llm", "query", "testing", "demo"])
def test_rooms_load_engines_only_when_used(room):
    assert modules_after(f"import fastrag.{room}") & (HEAVY - {"numpy"}) == set()


def test_every_exported_name_is_there():
    assert {name for name in fastrag.__all__ if getattr(fastrag, name) is None} == set()
    assert set(fastrag.__all__) <= set(dir(fastrag))


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'Retreiver'"):
        fastrag.Retreiver  # noqa: B018


def test_typed_marker_is_shipped():
    from importlib.resources import files

    assert files("fastrag").joinpath("py.typed").is_file()
