"""A Document as a row of a Milvus collection, and back; and what the collection says of itself."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastrag.document import Document
from fastrag.embedding.base import Matrix
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store.base import Binding
from fastrag.store.checks import check_format, check_language
from fastrag.store.facts import in_hex
from fastrag.store.json_text import from_json, to_json
from fastrag.store.milvus.filters import MAX_KEY, bounded_facts_of, is_key, items_of, keys_of

_FORMAT = "1"
_FORMAT_KEY = "fastrag.format"
_LANGUAGE_KEY = "fastrag.language"
_EMBEDDER_KEY = "fastrag.embedder_id"

# A collection must have vectors; one whose dimension is not known yet has these.
_NO_DIMENSION = 2
_UNBOUND = "unbound"
_KIND_KEY = "fastrag.kind"

_MAX_HEX_ID = 128
_MAX_FACTS = 4096  # the most items of an array
_MAX_KEYS_BYTES = 65_000  # of 65,536 bytes of JSON
_MAX_VARCHAR_BYTES = 65_535
_PART = _MAX_VARCHAR_BYTES // 4  # characters that fit, whatever they are


@dataclass(frozen=True, slots=True)
class Layout:
    """What a collection has besides Documents and vectors.

    Attributes:
        facts: Whether there is an array of facts (see `fastrag.store.milvus.filters`).
        words: Whether there is a word index.
        columns: Names of the keys that have a column of their own.
    """

    facts: bool
    words: bool
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection that fastrag made.

    Attributes:
        name: Its name in Milvus.
        binding: None where it holds no vectors, since their dimension is not known.
        layout: What it has besides.
        number: The server's number for it, which another of the same name has not; a file has none.
    """

    name: str
    binding: Binding | None
    layout: Layout
    number: int | None


def row_key(id: str) -> str:
    """The primary key that stands for a Document's id; it has no character in it that a caller chose.

    >>> row_key("a/1")
    '612f31'
    """
    key = in_hex(id)
    return key if len(key) <= _MAX_HEX_ID else f"h{hashlib.sha256(id.encode()).hexdigest()}"


def new_schema(milvus: Any, dimension: int | None, layout: Layout) -> Any:
    """The fields of a collection.

    Args:
        milvus: The module pymilvus.
        dimension: None while it is not known.
        layout: What it has besides.
    """
    types = milvus.DataType
    schema = milvus.MilvusClient.create_schema(enable_dynamic_field=True)
    schema.add_field("id", types.VARCHAR, is_primary=True, max_length=_MAX_HEX_ID)
    array = {"element_type": types.VARCHAR, "max_capacity": _MAX_FACTS, "max_length": _MAX_VARCHAR_BYTES}
    schema.add_field("document", types.ARRAY, **array)
    if layout.facts:
        schema.add_field("facts", types.ARRAY, **array)
    schema.add_field("written", types.INT64)
    schema.add_field("pointed", types.BOOL)
    schema.add_field("vector", types.FLOAT_VECTOR, dim=dimension or _NO_DIMENSION)
    for name in layout.columns:
        schema.add_field(name, types.VARCHAR, max_length=MAX_KEY)
    if layout.words:
        # The words come apart and reduced to their stems, see `word_analyzer`.
        analyzer = {"tokenizer": "standard"}
        schema.add_field(
            "words", types.VARCHAR, max_length=_MAX_VARCHAR_BYTES, enable_analyzer=True, analyzer_params=analyzer
        )
        schema.add_field("bm25", types.SPARSE_FLOAT_VECTOR)
        bm25 = milvus.FunctionType.BM25
        schema.add_function(milvus.Function("bm25", bm25, input_field_names=["words"], output_field_names=["bm25"]))
    return schema


def new_marks(language: str | None, binding: Binding | None) -> dict[str, str]:
    """What a new collection says of itself."""
    marks = {_FORMAT_KEY: _FORMAT, _LANGUAGE_KEY: language or ""}
    return marks | ({_KIND_KEY: _UNBOUND} if binding is None else embedder_mark(binding))


def embedder_mark(binding: Binding) -> dict[str, str]:
    """What a collection says of where its vectors come from."""
    return {} if binding.embedder_id is None else {_EMBEDDER_KEY: in_hex(binding.embedder_id)}


def is_ours(info: Mapping[str, Any]) -> bool:
    """Whether fastrag made the collection that ``info`` describes."""
    return _FORMAT_KEY in info.get("properties", {})


def binding_of(info: Mapping[str, Any]) -> Binding | None:
    """Which embedder the vectors come from; None for a collection whose dimension is not known."""
    marks = info["properties"]
    if marks.get(_KIND_KEY) == _UNBOUND:
        return None
    embedder_id = marks.get(_EMBEDDER_KEY)
    dimension = next(field["params"]["dim"] for field in info["fields"] if field["name"] == "vector")
    return Binding(None if embedder_id is None else bytes.fromhex(embedder_id).decode(), int(dimension))


def layout_of(info: Mapping[str, Any]) -> Layout:
    """What the collection that ``info`` describes has besides Documents and vectors."""
    names = {field["name"] for field in info["fields"]}
    return Layout("facts" in names, "words" in names, tuple(sorted(name for name in names if is_key(name))))


def check_marks(info: Mapping[str, Any], *, language: str | None, where: str) -> None:
    """Refuse a collection that is not a fastrag store, is a newer one, or one of another language.

    Raises:
        ConfigurationError: It is so; says which.
    """
    if not is_ours(info):
        raise ConfigurationError(f"{where} was not made by fastrag: give another namespace")
    marks = info["properties"]
    check_format(where, marks[_FORMAT_KEY], _FORMAT)
    check_language(where, marks.get(_LANGUAGE_KEY) or None, language)


def rows_of(
    documents: Sequence[Document], embeddings: Matrix | None, dimension: int | None, layout: Layout, analyzer: Any
) -> Iterator[dict[str, Any]]:
    """A row for each Document.

    Args:
        documents: Fit to be stored.
        embeddings: A row each, of zeros for those without direction; None where none has a vector.
        dimension: Of the collection; None where it has none yet.
        layout: Of the collection.
        analyzer: What takes texts apart into words; None where the collection has no word index.

    Raises:
        ConfigurationError: Metadata has more in it to filter by than Milvus holds.
    """
    now = time.time_ns()
    nowhere = np.zeros(dimension or _NO_DIMENSION, dtype=np.float32)
    for position, document in enumerate(documents):
        row: dict[str, Any] = {
            "id": row_key(document.id),
            "document": _parts(document),
            "written": now + position,
            "pointed": embeddings is not None and bool(embeddings[position].any()),
            "vector": nowhere if embeddings is None else embeddings[position],
        }
        keys = keys_of(document.metadata)
        row.update(dict.fromkeys(layout.columns, ""))
        row.update(keys)
        if layout.facts:
            row["facts"] = bounded_facts_of(document.metadata)
            _check_size(document, row["facts"], keys)
        else:
            row.update(items_of(document.metadata))
        if layout.words:
            row["words"] = words_of(document.text, analyzer)
        yield row


def document_of(row: Mapping[str, Any]) -> Document:
    """The Document of a row, or of a hit's entity, that was read with its field ``document``.

    Raises:
        StoreError: The row was not written by fastrag.
    """
    try:
        id, text, uri, metadata = from_json("".join(row["document"]))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("the collection has a row in it that fastrag did not write") from error
    return Document(id, text, uri, metadata)


def words_of(text: str, analyzer: Any) -> str:
    """The words of ``text``, as many of them from its start on as a field holds."""
    words = " ".join(analyzer.analyze(text))
    if len(words) <= _PART or len(words.encode()) <= _MAX_VARCHAR_BYTES:
        return words
    # Cut between two words; in the middle of a character there is none.
    return words.encode()[: _MAX_VARCHAR_BYTES + 1].rpartition(b" ")[0].decode()


def _parts(document: Document) -> list[str]:
    # JSON has no NUL in it, which the engine would take for the end of a text.
    whole = to_json([document.id, document.text, document.uri, document.metadata])
    return [whole[start : start + _PART] for start in range(0, len(whole), _PART)]


def _check_size(document: Document, facts: Sequence[str], keys: Mapping[str, str]) -> None:
    keys_bytes = sum(len(name) + len(key) + 6 for name, key in keys.items())
    if len(facts) > _MAX_FACTS or keys_bytes > _MAX_KEYS_BYTES:
        raise ConfigurationError(
            f"the metadata of Document {document.id!r} has {len(facts)} facts in it to filter by, and {keys_bytes} "
            f"bytes of keys; Milvus holds {_MAX_FACTS} and {_MAX_KEYS_BYTES} for each Document"
        )
