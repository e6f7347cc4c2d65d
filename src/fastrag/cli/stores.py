"""Stores as arguments of commands: by URL, or by the path of a folder."""

from __future__ import annotations

import argparse

from fastrag.errors import ConfigurationError


def store_url(text: str) -> str:
    """What `open_store` can open, and the next command finds again."""
    from fastrag.store.opening import open_store
    from fastrag.store.urls import scheme_of

    try:
        # Opening connects to nothing yet.
        open_store(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if scheme_of(text) == "memory":
        raise argparse.ArgumentTypeError("what is in memory: ends with the command: name a store that stays")
    return text
