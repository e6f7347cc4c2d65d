"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import fastrag

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(fastrag.__path__, "fastrag.") if module.name != "fastrag.__main__"
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    examples = [
        example for name in MODULES for test in finder.find(importlib.import_module(name)) for example in test.examples
    ]
    assert len(examples) >= 40
