"""A store in memory as a file, and back.

The file is a zip archive without compression: ``manifest.json`` says what it is of, ``documents.jsonl`` has a Document
a line, ``vectors.npy`` their vectors in the same order. It takes the place of the one before in one step, so whoever
reads it has the old one or the new one, whatever happens meanwhile. Reading it runs nothing that is in it.
"""

from __future__ import annotations

import errno
import io
import struct
import zipfile
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from fastrag._support.files import written_atomically
from fastrag.document import Document
from fastrag.embedding.base import Matrix
from fastrag.errors import ConfigurationError, StoreError
from fastrag.store.base import Binding
from fastrag.store.checks import checked_documents
from fastrag.store.json_text import from_json, to_json
from fastrag.store.languages import language_name
from fastrag.store.memory.rows import Rows, rows_of

_FORMAT = "fastrag store"
_SCHEMA_VERSION = 1
_MANIFEST, _DOCUMENTS, _VECTORS = "manifest.json", "documents.jsonl", "vectors.npy"
_SUFFIX = ".zip"
_ROWS_AT_ONCE = 4096


class _Kind(msgspec.Struct):
    format: str
    schema_version: int


class _Manifest(_Kind, forbid_unknown_fields=True):
    namespace: str
    language: str | None
    embedder_id: str | None
    dimension: int | None
    documents: int


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    text: str
    uri: str | None
    metadata: dict[str, Any]


def save(rows: Rows, folder: Path, *, namespace: str, language: str | None) -> None:
    """Write ``rows`` to the file of ``namespace`` in ``folder``, in place of what it held.

    Raises:
        StoreError: It cannot be written.
    """
    live = np.flatnonzero(rows.live)
    binding = rows.binding
    manifest = _Manifest(
        format=_FORMAT,
        schema_version=_SCHEMA_VERSION,
        namespace=namespace,
        language=language,
        embedder_id=binding.embedder_id if binding else None,
        dimension=binding.dimension if binding else None,
        documents=len(live),
    )
    try:
        with written_atomically(_path(folder, namespace)) as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_MANIFEST, msgspec.json.encode(manifest))
            with archive.open(_DOCUMENTS, "w", force_zip64=True) as part:
                for row in live.tolist():
                    part.write(_line_of(rows.documents[row]))
            with archive.open(_VECTORS, "w", force_zip64=True) as part:
                shape = len(live), rows.vectors.shape[1]
                header = io.BytesIO()
                np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
                part.write(header.getvalue())
                for start in range(0, len(live), _ROWS_AT_ONCE):
                    part.write(rows.vectors[live[start : start + _ROWS_AT_ONCE]].astype("<f4", copy=False).tobytes())
    except OSError as error:
        raise StoreError(f"the store could not be saved in {folder}: {error}") from error


def load(folder: Path, *, namespace: str) -> tuple[Rows, str | None]:
    """The rows that were saved as ``namespace`` in ``folder``, and their language.

    Raises:
        ConfigurationError: There is no such file, or it is damaged, of something else, or of a newer fastrag.
        StoreError: It cannot be read.
    """
    path = _path(folder, namespace)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path, namespace)
    except FileNotFoundError as error:
        raise ConfigurationError(f"no store was saved as {namespace!r} in {folder}: there is no {path.name}") from error
    except OSError as error:
        # A place in the file that cannot be is what the file says, not the disk.
        if error.errno != errno.EINVAL:
            raise StoreError(f"{path} cannot be read: {error}") from error
        raise _damaged(path, error) from error
    except (zipfile.BadZipFile, EOFError, LookupError, ValueError, RuntimeError, struct.error) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"{path} is damaged, or no saved store: {error}")


def _path(folder: Path, namespace: str) -> Path:
    return folder / f"{namespace}{_SUFFIX}"


def _line_of(document: Document) -> bytes:
    fields = {"id": document.id, "text": document.text, "uri": document.uri, "metadata": document.metadata}
    # Not by msgspec, which makes floats of large ints.
    return to_json(fields).encode() + b"\n"


def _read(archive: zipfile.ZipFile, path: Path, namespace: str) -> tuple[Rows, str | None]:
    for member in archive.infolist():
        # So that nothing becomes larger than the file is.
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member.filename} is compressed")
    data = archive.read(_MANIFEST)
    kind = msgspec.json.decode(data, type=_Kind)
    if kind.format != _FORMAT:
        raise ValueError(f"it is a {kind.format!r}")
    if kind.schema_version != _SCHEMA_VERSION:
        raise ConfigurationError(
            f"{path} has schema version {kind.schema_version}, and this fastrag reads {_SCHEMA_VERSION}: update fastrag"
        )
    manifest = msgspec.json.decode(data, type=_Manifest)
    if manifest.namespace != namespace:
        raise ValueError(f"it holds the namespace {manifest.namespace!r}")
    with archive.open(_DOCUMENTS) as part:
        lines = [_document(line) for line in part]
    try:
        language = language_name(manifest.language)
        documents = checked_documents(lines)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error
    if len(documents) != manifest.documents:
        raise ValueError(f"it has {len(documents)} Documents, and should have {manifest.documents}")
    with archive.open(_VECTORS) as part:
        shape = len(documents), manifest.dimension or 0
        vectors = _vectors(part, archive.getinfo(_VECTORS).file_size, shape)
    binding = None if manifest.dimension is None else Binding(manifest.embedder_id, manifest.dimension)
    return rows_of(documents, vectors, np.asarray(vectors.any(axis=1)), binding, 0), language


def _document(line: bytes) -> Document:
    fields = msgspec.convert(from_json(line), type=_Line)
    return Document(fields.id, fields.text, fields.uri, fields.metadata)


def _vectors(part: IO[bytes], size: int, shape: tuple[int, int]) -> Matrix:
    if np.lib.format.read_magic(part) != (1, 0):
        raise ValueError("the vectors are of another version of numpy's format")
    found, is_fortran, kind = np.lib.format.read_array_header_1_0(part)
    if found != shape or is_fortran or kind != np.dtype("<f4") or size - part.tell() != 4 * shape[0] * shape[1]:
        raise ValueError(f"the vectors are {found} of {kind}, and should be {shape} of float32")
    # To the end, where the checksum is looked at.
    vectors = np.frombuffer(part.read(), dtype="<f4").reshape(shape).astype(np.float32)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if not np.all((squares == 0) | (abs(squares - 1) < 1e-3)):
        raise ValueError("a vector is not of norm 1")
    return vectors
