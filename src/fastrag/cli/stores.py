"""Stores as arguments of commands: by URL, or by the path of a folder."""

from __future__ import annotations

import argparse

from fastrag.errors import ConfigurationError


def store_url(text: str) -> str:
    """What `open_store` can open."""
    from fastrag.store.opening import open_store

    try:
        # Opening connects to nothing yet.
        open_store(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text
