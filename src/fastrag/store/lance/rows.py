"""A Document as a row of a LanceDB table, and back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastrag.document import Document
from fastrag.embedding.base import Matrix, Vector
from fastrag.errors import ConfigurationError
from fastrag.store.base import Binding
from fastrag.store.checks import check_format, check_language
from fastrag.store.facts import facts_of
from fastrag.store.json_text import from_json, to_json
from fastrag.store.lance.engine import pyarrow
from fastrag.store.lance.filters import sortable_of

DOCUMENT_COLUMNS = ["id", "text", "uri", "metadata"]

_FORMAT = "1"
_FORMAT_KEY = b"fastrag.format"
_LANGUAGE_KEY = b"fastrag.language"
_EMBEDDER_KEY = b"fastrag.embedder_id"


def new_schema(language: str | None) -> Any:
    """The columns of a store that holds no vectors yet, marked with the format and the stemmer's language."""
    pa = pyarrow()
    # With a declared key, LanceDB sees that two writers insert the same id at once, and makes the second
    # replace it.
    key = {"lance-schema:unenforced-primary-key": "true"}
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata=key),
            pa.field("text", pa.string(), nullable=False),
            pa.field("uri", pa.string()),
            pa.field("metadata", pa.string(), nullable=False),
            pa.field("facts", pa.list_(pa.string()), nullable=False),
            pa.field("sortable", pa.string(), nullable=False),
            pa.field("written_ns", pa.int64(), nullable=False),
        ],
        metadata={_FORMAT_KEY: _FORMAT, _LANGUAGE_KEY: language or ""},
    )


def vector_field(binding: Binding) -> Any:
    """The column that makes a store one of ``binding``."""
    pa = pyarrow()
    return pa.field("vector", pa.list_(pa.float32(), binding.dimension), metadata=embedder_metadata(binding))


def embedder_metadata(binding: Binding) -> dict[str, str]:
    """What the vector column says about where its vectors come from."""
    return {} if binding.embedder_id is None else {_EMBEDDER_KEY.decode(): binding.embedder_id}


def binding_of(schema: Any) -> Binding | None:
    """Which embedder the vectors come from; None for a store without a vector column."""
    if "vector" not in schema.names:
        return None
    field = schema.field("vector")
    embedder_id = (field.metadata or {}).get(_EMBEDDER_KEY)
    return Binding(None if embedder_id is None else embedder_id.decode(), field.type.list_size)


def is_ours(schema: Any) -> bool:
    """Whether a table was made by fastrag, of whatever version."""
    return _FORMAT_KEY in (schema.metadata or {})


def check_schema(schema: Any, *, language: str | None, where: str) -> None:
    """Refuse a table that is not a fastrag store, is a newer one, or one of another language.

    Raises:
        ConfigurationError: It is so; says which.
    """
    marks = schema.metadata or {}
    written = marks.get(_FORMAT_KEY)
    if written is None:
        raise ConfigurationError(f"{where} holds a LanceDB table that was not made by fastrag: give another path")
    check_format(where, written.decode(), _FORMAT)
    check_language(where, marks.get(_LANGUAGE_KEY, b"").decode() or None, language)


def to_rows(schema: Any, documents: Sequence[Document], embeddings: Matrix | None) -> Any:
    """A table of ``schema`` that holds the Documents; where there is no direction, there is no vector."""
    pa = pyarrow()
    now = time.time_ns()
    columns: dict[str, Any] = {
        "id": [document.id for document in documents],
        "text": [document.text for document in documents],
        "uri": [document.uri for document in documents],
        "metadata": [to_json(document.metadata) for document in documents],
        "facts": [facts_of(document.metadata) for document in documents],
        "sortable": [sortable_of(document.metadata) for document in documents],
        "written_ns": [now + position for position in range(len(documents))],
    }
    arrays = [pa.array(columns[name], schema.field(name).type) for name in columns]
    if "vector" in schema.names:
        arrays.append(_vectors(schema.field("vector").type, len(documents), embeddings))
    return pa.Table.from_arrays(arrays, schema=schema)


def to_documents(rows: Any) -> Iterator[Document]:
    """The Documents of rows that have `DOCUMENT_COLUMNS`."""
    columns = (rows.column(name).to_pylist() for name in DOCUMENT_COLUMNS)
    for key, text, uri, metadata in zip(*columns, strict=True):
        yield Document(key, text, uri, from_json(metadata))


def to_embeddings(rows: Any) -> dict[str, Vector]:
    """Id -> vector of rows that have these two columns; without those that have no vector."""
    rows = rows.filter(pyarrow().compute.field("vector").is_valid())
    width = rows.schema.field("vector").type.list_size
    vectors = rows.column("vector").combine_chunks().flatten().to_numpy().reshape(len(rows), width)
    return {key: vector.copy() for key, vector in zip(rows.column("id").to_pylist(), vectors, strict=True)}


def _vectors(column: Any, rows: int, embeddings: Matrix | None) -> Any:
    pa = pyarrow()
    if embeddings is None:
        return pa.nulls(rows, column)
    pointless = ~embeddings.any(axis=1)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(np.ascontiguousarray(embeddings).reshape(-1)), type=column, mask=pa.array(pointless)
    )
