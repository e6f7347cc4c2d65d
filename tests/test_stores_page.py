"""What docs/stores.md shows is so."""

import re
from pathlib import Path

import pytest

from fastrag import store
from fastrag.cli import main
from fastrag.store.opening import open_store

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "stores.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys):
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "stores.md", "exec"), {})
    assert capsys.readouterr().out == "2 0 True\n0 2 True\n"


def test_every_store_is_named():
    kinds = {
        name
        for name in store.__all__
        if isinstance(getattr(store, name), type) and issubclass(getattr(store, name), store.VectorStore)
    }
    assert set(re.findall(r"^\| `(\w+Store)` \|", PAGE, re.MULTILINE)) == kinds - {"VectorStore"}


def test_every_url_it_names_can_be_opened():
    urls = re.findall(r"`((?:lance|memory|postgresql|milvus|qdrant)(?:\+https)?:[^`?]*)`", PAGE)
    assert len(urls) >= 11
    for url in urls:
        open_store(url)


def test_every_option_it_names_is_one(capsys):
    with pytest.raises(SystemExit):
        main(["copy", "--help"])
    known = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) - known == set()
