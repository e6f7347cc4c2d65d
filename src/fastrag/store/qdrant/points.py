"""A Document as a point of a Qdrant collection, and back; and what the collection says of itself."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store.base import Binding
from fastrag.store.checks import check_format, check_language
from fastrag.store.facts import facts_of
from fastrag.store.json_text import from_json, to_json
from fastrag.store.qdrant.filters import FACTS, SORT, columns_of
from fastrag.store.word_vectors import WordVectors

DENSE = "dense"
WORDS = "words"
WRITTEN = "written_ns"
DOCUMENT_FIELDS = ["id", "text", "uri", "metadata"]

_FORMAT = "1"
_FORMAT_KEY = "fastrag_format"
_LANGUAGE_KEY = "fastrag_language"
_EMBEDDER_KEY = "fastrag_embedder_id"
_IDS = uuid.UUID("2d9cf5d3-9b1c-5f0e-8a55-c0a1f7a4d1f6")


def point_id(id: str) -> str:
    """The UUID that stands for a Document's id: Qdrant takes no texts."""
    return str(uuid.uuid5(_IDS, id))


def points_of(
    models: Any, documents: Sequence[Document], embeddings: Matrix | None, words: WordVectors
) -> Iterator[tuple[Any, int]]:
    """A ``models.PointStruct`` for each Document, and about how many bytes it takes to send it."""
    now = time.time_ns()
    for position, document in enumerate(documents):
        vectors: dict[str, Any] = {}
        places, weights = words.of_text(document.text)
        if places:
            vectors[WORDS] = models.SparseVector(indices=places, values=weights)
        if embeddings is not None and embeddings[position].any():
            vectors[DENSE] = embeddings[position].tolist()
        metadata = to_json(document.metadata)
        payload = {
            "id": document.id,
            "text": document.text,
            "uri": document.uri,
            "metadata": metadata,
            WRITTEN: now + position,
            FACTS: facts_of(document.metadata),
            SORT: columns_of(document.metadata),
        }
        size = 4 * (len(document.text) + len(metadata)) + 20 * (len(places) + len(vectors.get(DENSE, ())))
        yield models.PointStruct(id=point_id(document.id), vector=vectors, payload=payload), size


def document_of(point: Any, where: str) -> Document:
    """The Document of a point that was read with its `DOCUMENT_FIELDS`.

    Raises:
        StoreError: The point was not written by fastrag.
    """
    payload = point.payload or {}
    if not payload.keys() >= set(DOCUMENT_FIELDS):
        raise _not_ours(point, where)
    return Document(payload["id"], payload["text"], payload["uri"], metadata_of(point, where))


def embeddings_of(points: Sequence[Any]) -> dict[str, Vector]:
    """Id -> vector, of those points that have one, read with their ``id`` and `DENSE`."""
    return {
        point.payload["id"]: np.array(point.vector[DENSE], dtype=np.float32)
        for point in points
        if point.payload and "id" in point.payload and DENSE in (point.vector or {})
    }


def metadata_of(point: Any, where: str) -> dict[str, Any]:
    """The metadata of the Document of a point that was read with it.

    Raises:
        StoreError: The point was not written by fastrag.
    """
    try:
        metadata: dict[str, Any] = from_json(point.payload["metadata"])
    except (KeyError, TypeError, ValueError) as error:
        raise _not_ours(point, where) from error
    return metadata


def _not_ours(point: Any, where: str) -> StoreError:
    return StoreError(f"{where} has a point in it that fastrag did not write: {point.id}")


def new_marks(language: str | None, embedder_id: str | None) -> dict[str, Any]:
    """What a new collection says of itself."""
    return {_FORMAT_KEY: _FORMAT, _LANGUAGE_KEY: language or ""} | embedder_mark(embedder_id)


def embedder_mark(embedder_id: str | None) -> dict[str, Any]:
    """What a collection says of where its vectors come from."""
    return {} if embedder_id is None else {_EMBEDDER_KEY: embedder_id}


def is_ours(info: Any) -> bool:
    """Whether fastrag made the collection that ``info`` is of."""
    return _FORMAT_KEY in (info.config.metadata or {})


def binding_of(info: Any) -> Binding | None:
    """Which embedder the vectors come from; None for a collection without any."""
    vectors: Mapping[str, Any] = info.config.params.vectors or {}
    if DENSE not in vectors:
        return None
    return Binding((info.config.metadata or {}).get(_EMBEDDER_KEY), vectors[DENSE].size)


def check_marks(info: Any, *, language: str | None, where: str) -> None:
    """Refuse a collection that is not a fastrag store, is a newer one, or one of another language.

    Raises:
        ConfigurationError: It is so; says which.
    """
    if not is_ours(info):
        raise ConfigurationError(f"{where} was not made by fastrag: give another namespace")
    marks = info.config.metadata
    check_format(where, marks[_FORMAT_KEY], _FORMAT)
    check_language(where, marks.get(_LANGUAGE_KEY) or None, language)
