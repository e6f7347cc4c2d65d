"""What every store checks before it does anything, so that the same mistake gets the same message."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError, EmbedderMismatchError
from fastrag.store.filters import Filter, check_filter

MAX_METADATA_DEPTH = 50
"""How deep lists and mappings in a Document's metadata may be nested; deeper ones are refused."""

DEFAULT_NAMESPACE = "default"

# What every engine takes in a name of a table or collection, as it stands.
_NAMESPACE = re.compile(r"[a-z][a-z0-9_]{0,47}", re.ASCII)

# Python refuses to write longer ones in decimal, and so to make JSON of them.
_MAX_INT_BITS = 14_000


def checked_documents(documents: Sequence[Document]) -> list[Document]:
    """Copies of ``documents`` that share nothing with them, once they are fit to be stored.

    Metadata is JSON-like: mappings with text keys, lists, texts, ints (of up to 14,000 bits), finite floats,
    bools and None. A tuple is stored as the list that JSON makes of it.

    Raises:
        ConfigurationError: Something is not a Document, an id is empty or there twice, a text is not valid
            Unicode, or metadata is not JSON-like; says which.
    """
    if not isinstance(documents, Iterable):
        raise ConfigurationError(f"documents must be a list of Documents, not a {type(documents).__name__}")
    copies = []
    seen: set[str] = set()
    for position, document in enumerate(documents):
        if not isinstance(document, Document):
            raise ConfigurationError(f"documents[{position}] must be a Document, not {document!r}")
        identity = checked_id(document.id)
        if identity in seen:
            raise ConfigurationError(f"ids must be distinct within one upsert, and {identity!r} is there twice")
        seen.add(identity)
        text = _checked_str(document.text, "the text of", identity)
        uri = None if document.uri is None else _checked_str(document.uri, "the uri of", identity)
        if not isinstance(document.metadata, dict):
            raise ConfigurationError(f"the metadata of Document {identity!r} must be a dict, not {document.metadata!r}")
        copies.append(Document(identity, text, uri, _checked_json(document.metadata, identity, ())))
    return copies


def checked_namespace(namespace: object) -> str:
    """Return ``namespace`` if it can name a corpus in every engine.

    Raises:
        ConfigurationError: It is not 1 to 48 of a-z, 0-9 and _ that begin with a letter.

    >>> checked_namespace("handbook_2026")
    'handbook_2026'
    """
    if not isinstance(namespace, str) or not _NAMESPACE.fullmatch(namespace):
        raise ConfigurationError(
            f"a namespace is 1 to 48 of a-z, 0-9 and _ that begin with a letter, not {namespace!r}"
        )
    return namespace


def checked_folder(path: object) -> Path:
    """Return ``path`` as an absolute one, so that it means the same whatever folder is current later.

    Raises:
        ConfigurationError: It is no path, an empty text (which would be the current folder), or a URL.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ConfigurationError(f"path must be the path of a folder, not {path!r}")
    if "://" in text:
        raise ConfigurationError(f"path must be a folder on this machine, not a URL: {text!r}")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigurationError(f"path {text!r} cannot be told: {error}") from error


def check_format(where: str, found: object, expected: str) -> None:
    """Refuse what was written in another format of a store.

    Raises:
        ConfigurationError: ``found`` is not ``expected``.
    """
    if found != expected:
        raise ConfigurationError(
            f"{where} was written in store format {found}, and this fastrag reads format {expected}: "
            "update fastrag, or build the store anew"
        )


def check_language(where: str, found: str | None, language: str | None) -> None:
    """Refuse a store whose words were indexed for another language.

    Raises:
        ConfigurationError: ``found`` is not ``language``.
    """
    if found != language:
        raise ConfigurationError(
            f"{where} was made with language={found!r}, and is opened with language={language!r}: its words were "
            "indexed for the former"
        )


def checked_id(id: object) -> str:
    """Return ``id`` if it can identify a Document.

    Raises:
        ConfigurationError: It is not a text, empty, or not valid Unicode.
    """
    if not isinstance(id, str) or not id:
        raise ConfigurationError(f"a Document's id must be a text that is not empty, not {id!r}")
    return _checked_str(id, "the id of", id)


def checked_ids(ids: Sequence[str]) -> list[str]:
    """Return ``ids`` as a list, if each can identify a Document.

    Raises:
        ConfigurationError: One cannot, or ``ids`` is a single text or no list at all.
    """
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise ConfigurationError(f"ids must be a list of texts, not {ids!r}")
    return [checked_id(each) for each in ids]


def unit_rows(embeddings: ArrayLike, *, rows: int) -> Matrix:
    """Return ``embeddings`` as ``rows`` new float32 rows of L2 norm 1; a row of zeros stays one.

    Raises:
        ConfigurationError: It is no matrix of ``rows`` rows of finite numbers.

    >>> unit_rows([[3, 4], [0, 0]], rows=2).tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0]]
    True
    """
    matrix = _finite("embeddings", embeddings)
    if matrix.ndim != 2 or matrix.shape[0] != rows:
        raise ConfigurationError(
            f"embeddings must have one row for each of the {rows} Documents, and have shape {matrix.shape}"
        )
    if matrix.shape[1] == 0 and rows:
        raise ConfigurationError("embeddings must have at least one column, and have none")
    return _normalised(matrix)


def unit_vector(embedding: ArrayLike) -> Vector:
    """Return ``embedding`` as a new float32 vector of L2 norm 1; a vector of zeros stays one.

    Raises:
        ConfigurationError: It is no vector of finite numbers, or an empty one.
    """
    vector = _finite("embedding", embedding)
    if vector.ndim != 1 or not vector.size:
        raise ConfigurationError(f"embedding must be one vector, and has shape {vector.shape}")
    unit: Vector = _normalised(vector[np.newaxis])[0]
    return unit


def check_dimension(found: int, expected: int) -> None:
    """Refuse vectors of another dimension than a store's.

    Raises:
        EmbedderMismatchError: ``found`` is not ``expected``.
    """
    if found != expected:
        raise EmbedderMismatchError(
            f"the store holds vectors of dimension {expected}, and was given dimension {found}: use the "
            "embedder the store was built with, or build a new store"
        )


def checked_deletion(ids: Sequence[str] | None, filter: Filter | None) -> tuple[list[str] | None, Filter | None]:
    """Return the two arguments of `VectorStore.delete`, if exactly one is given and it is well formed.

    Raises:
        ConfigurationError: It is not so.
    """
    if (ids is None) == (filter is None):
        raise ConfigurationError("delete takes either ids or a filter, exactly one of the two")
    check_filter(filter)
    return (None if ids is None else checked_ids(ids)), filter


def checked_min_score(min_score: float | None) -> float | None:
    """Return ``min_score`` if it is None or a number that scores can be compared with.

    Raises:
        ConfigurationError: It is something else, NaN, or an int beyond the range of floats.
    """
    if min_score is None:
        return None
    if isinstance(min_score, bool) or not isinstance(min_score, int | float) or min_score != min_score:
        raise ConfigurationError(f"min_score must be a number or None, not {min_score!r}")
    try:
        return float(min_score)
    except OverflowError as error:
        raise ConfigurationError(f"min_score must be a number that a float can hold: {error}") from error


def copied_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """A copy of JSON-like ``metadata`` that shares no list or mapping with it.

    >>> tags = {"tags": ["a"]}
    >>> copied_metadata(tags)["tags"] is tags["tags"]
    False
    """
    return {key: _copied(value) for key, value in metadata.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def _checked_json(value: Any, identity: str, path: tuple[str | int, ...]) -> Any:
    """A copy of what is at ``path`` in the metadata of the Document, made of JSON's own types."""
    if isinstance(value, str):
        return _checked_str(value, "metadata of", identity, path)
    if value is None or isinstance(value, bool):
        return value
    # Subclasses (enums, numpy's float64) are stored as the plain value that JSON would make of them.
    if isinstance(value, int):
        if value.bit_length() > _MAX_INT_BITS:
            raise _unfit(identity, path, f"is an int of more than {_MAX_INT_BITS} bits: store it as a text")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _unfit(identity, path, f"must be a finite number, not {value!r}")
        return float(value)
    if len(path) >= MAX_METADATA_DEPTH:
        raise _unfit(identity, path, f"is nested more than {MAX_METADATA_DEPTH} deep")
    if isinstance(value, list | tuple):
        return [_checked_json(item, identity, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        copy = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _unfit(identity, path, f"must have texts as keys, not {key!r}")
            copy[_checked_str(key, "a key in the metadata of", identity, path)] = _checked_json(
                item, identity, (*path, key)
            )
        return copy
    raise _unfit(
        identity,
        path,
        f"must be JSON-like (text, number, bool, None, list, dict), not a {type(value).__name__}: {value!r}",
    )


def _unfit(identity: str, path: tuple[str | int, ...], reason: str) -> ConfigurationError:
    place = "".join(f"[{step!r}]" for step in path)
    return ConfigurationError(f"Document {identity!r}: metadata{place} {reason}")


def _checked_str(value: object, what: str, identity: str, path: tuple[str | int, ...] = ()) -> str:
    # What is said of it is put together when it is wrong: of a million Documents, each has ten texts that are not.
    if not isinstance(value, str):
        raise ConfigurationError(f"{what} Document {identity!r} must be a text, not {value!r}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            place = "".join(f"[{step!r}]" for step in path)
            raise ConfigurationError(
                f"{what} Document {identity!r}{place and f' at {place}'} must be valid Unicode, and has a lone "
                f"surrogate at {error.start}"
            ) from error
    return value if type(value) is str else str.__str__(value)


def _finite(name: str, values: ArrayLike) -> Matrix:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ConfigurationError(f"{name} must be numbers in rows of one length: {error}") from error
    if array.dtype.kind not in "fiu":
        raise ConfigurationError(f"{name} must be real numbers, and have the numpy type {array.dtype}")
    # What does not fit float32, the precision that is kept, becomes infinite here and is refused below.
    with np.errstate(over="ignore"):
        array = array.astype(np.float32, copy=False)
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(index) for index in np.argwhere(~finite)[0])
        raise ConfigurationError(f"{name} must be finite, and {name}{list(where)} is {array[where]}")
    return array


def _normalised(matrix: Matrix) -> Matrix:
    # The squares of float32's largest and smallest numbers fit only float64.
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))[:, np.newaxis]
    unit = np.zeros(matrix.shape, dtype=np.float32)
    np.divide(matrix, norms, out=unit, where=norms > 0, casting="same_kind")
    return unit
