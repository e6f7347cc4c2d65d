"""Embedding on this machine: an ONNX model run by fastembed, no service and no torch."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fastrag._support.checks import require_positive_int, require_text
from fastrag._support.concurrency import run_together
from fastrag._support.extras import import_extra
from fastrag.embedding._texts import require_prefix, require_question, require_texts
from fastrag.embedding.base import Embedder, Matrix, Vector
from fastrag.embedding.model_dir import MODEL_DIR_VARIABLE, default_model_dir
from fastrag.errors import ConfigurationError, ModelError

_DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
_TOKENIZER_FILES = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")
_TEXTS_PER_JOB = 8  # small enough that a cancelled call stops soon
_MOST_THREADS = 8

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: Any
    identity: str


class LocalEmbedder(Embedder):
    """Runs a fastembed model on the CPU; needs the extra ``local``.

    Which model:

    - ``model_dir`` given: the files in that folder (an ONNX model, ``tokenizer.json``, ``tokenizer_config.json``),
      and never the network. ``model`` says which of fastembed's models they are, and so the name of the ONNX file
      and the pooling; None: ``model.onnx``, mean pooling, length 1, as most sentence-transformers models want.
    - only ``model`` given: that model of fastembed's list, downloaded to fastembed's cache if it is not there.
    - neither: the folder `default_model_dir`, which ``scripts/fetch_model.py`` fills with all-MiniLM-L6-v2 (384
      dimensions, English, 256 tokens). Nothing is downloaded.

    The model is loaded once, at the first use (in a forked process, once more there). Every text is run by itself
    on one core and ``threads`` texts run side by side: measured on CPUs, that is faster than batches (nothing is
    padded), and a vector does not depend on the texts embedded with it. Questions do not queue behind documents.
    What exceeds the model's token limit is cut off.

    Args:
        model: A name from ``fastembed.TextEmbedding.list_supported_models()``, or None.
        model_dir: A folder with the model's files, or None.
        query_prefix: Put before every question, for models trained with one (``"query: "``).
        document_prefix: Put before every document (``"passage: "``).
        threads: How many texts to embed at once, one core each; None: one per core, at most 8.

    Raises:
        ConfigurationError: An argument is of the wrong type or range.
        ModelError: The folder is not there.

    Example::

        embedder = LocalEmbedder()
        vector = await embedder.embed_query("What is a tuple?")
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        model_dir: str | os.PathLike[str] | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        threads: int | None = None,
    ) -> None:
        self._name = None if model is None else require_text("model", model)
        self._folder = None if model_dir is None else Path(model_dir).expanduser().absolute()
        if self._name is None and self._folder is None:
            self._folder = default_model_dir()
        if self._folder is not None and not self._folder.is_dir():
            raise ModelError(_how_to_get_a_model(self._folder))
        self._query_prefix = require_prefix("query_prefix", query_prefix)
        self._document_prefix = require_prefix("document_prefix", document_prefix)
        self._threads = _usable_cores() if threads is None else require_positive_int("threads", threads)
        self._closed = False
        self._start()

    def _start(self) -> None:
        # Own pools, not asyncio.to_thread's: that one is shared with everything else in the process that blocks,
        # and two of them, so that a question never queues behind thousands of documents.
        self._document_pool = ThreadPoolExecutor(self._threads, thread_name_prefix="fastrag-embed-documents")
        self._query_pool = ThreadPoolExecutor(self._threads, thread_name_prefix="fastrag-embed-queries")
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._process = os.getpid()

    def _start_anew_if_forked(self) -> None:
        # A fork has none of its parent's threads, so what is given to the parent's pools would never be done, and
        # its lock may be held for ever.
        if self._process != os.getpid():
            self._start()

    @property
    def id(self) -> str:
        """Model name, digest of the model's and tokenizer's files, pooling, token limit, prefixes.

        Reading it for the first time loads the model, which blocks for about a second, or as long as a download
        takes; in async code that minds, embed something first or read it in ``asyncio.to_thread``.

        Raises:
            ModelError: The model is missing or broken.
        """
        self._start_anew_if_forked()
        return self._load().identity

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed texts that will be searched; unit vectors, in the order of ``texts``.

        Raises:
            ConfigurationError: ``texts`` is not a sequence of str, or the embedder is closed.
            ModelError: The model is missing or broken.
        """
        prepared = require_texts(texts, self._document_prefix)
        if not prepared:
            return np.zeros((0, 0), dtype=np.float32)
        # First the model alone: where it cannot be loaded, that is tried once, not once a job.
        await self._run(self._load)
        jobs = [
            self._run(self._embed, "passage_embed", prepared[start : start + _TEXTS_PER_JOB])
            for start in range(0, len(prepared), _TEXTS_PER_JOB)
        ]
        return np.concatenate(await run_together(*jobs))

    async def embed_query(self, text: str) -> Vector:
        """Embed a question; a unit vector.

        Raises:
            ConfigurationError: ``text`` is empty, or the embedder is closed.
            ModelError: The model is missing or broken.
        """
        prepared = require_question(text, self._query_prefix)
        matrix = await self._run(self._embed, "query_embed", [prepared], query=True)
        vector: Vector = matrix[0]
        return vector

    async def close(self) -> None:
        """Let the model go. Calls that are not through yet, and later ones, raise ConfigurationError."""
        self._closed = True
        self._document_pool.shutdown(wait=False, cancel_futures=True)
        self._query_pool.shutdown(wait=False, cancel_futures=True)
        self._loaded = None

    async def _run(self, call: Callable[..., _T], *arguments: Any, query: bool = False) -> _T:
        if self._closed:
            raise ConfigurationError("this LocalEmbedder is closed: make a new one")
        self._start_anew_if_forked()
        job = (self._query_pool if query else self._document_pool).submit(call, *arguments)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            if not self._ended_by_close():
                raise
            raise ConfigurationError("this LocalEmbedder was closed while it was embedding") from None

    def _ended_by_close(self) -> bool:
        task = asyncio.current_task()
        return self._closed and not (task is not None and task.cancelling())

    def _embed(self, method: str, texts: list[str]) -> Matrix:
        if self._closed:
            raise ConfigurationError("this LocalEmbedder was closed while it was embedding")
        model = self._load().model
        with _errors_as_model_error(f"the model could not embed {len(texts)} texts"):
            rows = list(getattr(model, method)(texts, batch_size=1))
        try:
            matrix = np.asarray(rows, dtype=np.float32)
        except ValueError as error:
            raise ModelError(f"the model gave vectors of different lengths: {error}") from error
        if matrix.ndim != 2 or len(matrix) != len(texts) or not np.isfinite(matrix).all():
            raise ModelError(
                f"the model gave an array of shape {matrix.shape} for {len(texts)} texts, or one with numbers that "
                "are not finite: it is not a text embedding model, or its files do not belong together"
            )
        # Not all of fastembed's ways of pooling do this. Vectors of length 1 but for rounding stay as they are.
        norms: Matrix = np.linalg.norm(matrix, axis=1, keepdims=True)
        divisors = np.where((np.abs(norms - 1) < 1e-3) | (norms == 0), np.float32(1), norms)
        return np.asarray(matrix / divisors, dtype=np.float32)

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load_now()
            return self._loaded

    def _load_now(self) -> _Loaded:
        fastembed = import_extra("fastembed", extra="local", purpose="LocalEmbedder")
        name = self._name or _DEFAULT_MODEL
        known = {entry["model"].lower(): entry for entry in fastembed.TextEmbedding.list_supported_models()}
        if name.lower() not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
            hint = f"; did you mean {known[near[0]]['model']!r}?" if near else ""
            raise ModelError(
                f"fastembed does not know a model {name!r}{hint} (fastembed.TextEmbedding.list_supported_models() "
                "lists those it knows; for the files of another one, give model_dir without model)"
            )
        files = [known[name.lower()]["model_file"], *known[name.lower()]["additional_files"], *_TOKENIZER_FILES]
        options: dict[str, Any] = {"threads": 1}
        if self._folder is not None:
            if not (self._folder / files[0]).is_file():
                raise ModelError(f"there is no {files[0]} in {self._folder}. " + _how_to_get_a_model(self._folder))
            # fastembed makes its cache folder even when it does not use it; this one is there already.
            options |= {"specific_model_path": str(self._folder), "cache_dir": str(self._folder)}
        source = self._folder or f"{name!r} from fastembed's cache or its download"
        with _errors_as_model_error(f"cannot load the model {source}"):
            model = fastembed.TextEmbedding(name, **options)
        return _Loaded(model, self._identity(model.model, files))

    def _identity(self, model: Any, files: list[str]) -> str:
        folder = self._folder
        if folder is None:
            where = {"cache_dir": model.cache_dir, "local_files_only": True}
            folder = Path(model.download_model(model.model_description, **where))
        digest = hashlib.sha256()
        for name in sorted(files):
            if (folder / name).is_file():
                with (folder / name).open("rb") as file:
                    digest.update(f"{name}={hashlib.file_digest(file, 'sha256').hexdigest()};".encode())
        truncation = model.tokenizer.truncation
        limit = truncation["max_length"] if truncation else None
        return (
            f"fastembed:{self._name or _name_of(folder)}:sha256={digest.hexdigest()[:16]}:{type(model).__name__}:"
            f"max_tokens={limit}:query_prefix={self._query_prefix!r}:document_prefix={self._document_prefix!r}"
        )


def _name_of(folder: Path) -> str:
    """What the model in ``folder`` calls itself, else the folder's name. For people: the digest is what counts."""
    try:
        name = json.loads((folder / "config.json").read_bytes())["_name_or_path"]
    except (OSError, ValueError, LookupError, TypeError):
        name = None
    # Some have the path on the disk of whoever made them.
    return "/".join(name.split("/")[-2:]) if isinstance(name, str) and name.strip() else folder.name


@contextmanager
def _errors_as_model_error(problem: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # onnxruntime's and tokenizers' errors have no narrower class in common
        raise ModelError(f"{problem}: {error}") from error


def _usable_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST_THREADS)


def _how_to_get_a_model(folder: Path) -> str:
    return (
        f"No local embedding model in {folder}: run `python scripts/fetch_model.py` in fastrag's repository, let "
        f"{MODEL_DIR_VARIABLE} or model_dir name a folder that has one, or name a model to be downloaded: "
        f"LocalEmbedder({_DEFAULT_MODEL!r})"
    )
