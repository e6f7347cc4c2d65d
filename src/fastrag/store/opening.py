"""Opening a store by a URL that says which engine keeps it, and where."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote
from urllib.request import url2pathname

from fastrag.errors import ConfigurationError
from fastrag.store.base import VectorStore
from fastrag.store.checks import DEFAULT_NAMESPACE
from fastrag.store.lance.store import LanceStore
from fastrag.store.memory.store import InMemoryStore
from fastrag.store.milvus.store import MilvusStore
from fastrag.store.postgres.store import PgVectorStore
from fastrag.store.qdrant.store import QdrantStore
from fastrag.store.urls import StoreUrl, options_of, parsed_url, scheme_of, without_options, without_secrets

_OPTIONS = ("namespace", "language")
_MILVUS_PORT = 19530
_QDRANT_PORT = 6333


def open_store(url: str, *, namespace: str = DEFAULT_NAMESPACE, language: str | None = "en") -> VectorStore:
    """The store at ``url``. Nothing is connected to, read or made before the store is first asked something.

    ======================================  ========================================================================
    ``my-index``, ``lance:my-index``        `LanceStore` in a folder, relative to the one that is current now
    ``lance:///data/my-index``              `LanceStore` in that folder
    ``memory:``                             `InMemoryStore`, new and empty
    ``postgresql://user@host:5432/db``      `PgVectorStore`; also ``postgres://``. Other options are those of libpq,
                                            and so are the environment's ``PGPASSWORD``, ``PGHOST`` and the like
    ``milvus://host:19530/db``              `MilvusStore` of a server; ``milvus+https://`` with TLS. The token is
                                            ``user:password@``, or that of the environment's ``MILVUS_TOKEN``
    ``milvus:///data/docs.db``              `MilvusStore` in a file; ``milvus:docs.db`` for a relative path
    ``qdrant://host:6333``                  `QdrantStore` of a server; ``qdrant+https://`` with TLS. The API key is
                                            ``:key@``, or that of the environment's ``QDRANT_API_KEY``
    ======================================  ========================================================================

    ``?namespace=name`` and ``?language=de`` (``none`` for no stemming) may be added to each but a plain folder. What
    is special in a user, password, path or option is percent-encoded.

    Args:
        url: As above.
        namespace: Which corpus, where ``url`` does not say.
        language: As for every store, where ``url`` does not say.

    Raises:
        ConfigurationError: ``url`` is of no such form, or what it says is refused by the store. What is said of it
            holds no password or key.

    >>> store = open_store("memory:?namespace=handbook")
    >>> type(store).__name__, store.namespace
    ('InMemoryStore', 'handbook')
    """
    if not isinstance(url, str) or not url:
        raise ConfigurationError(f"a store is opened by a text, its URL or the path of a folder, not {url!r}")
    scheme = scheme_of(url)
    if scheme is None:
        if _OPTIONS_OF_A_FOLDER.search(url):
            raise ConfigurationError(f"{url!r} is a plain folder, which has no options: write lance:{url}")
        return LanceStore(url, namespace=namespace, language=language)
    opener = _OPENERS.get(scheme)
    if opener is None:
        raise ConfigurationError(
            f"{without_secrets(url)!r} begins with none of {', '.join(f'{known}:' for known in _OPENERS)}. Write ./ "
            "before the path of a folder that has a colon in it"
        )
    options = options_of(url)
    namespace = options.get("namespace", namespace)
    stated = options.get("language", language)
    return opener(url, namespace, None if stated == "none" else stated)


def _memory(url: str, namespace: str, language: str | None) -> VectorStore:
    parts = _checked(url)
    if parts.names_server or parts.path:
        raise ConfigurationError(f"{without_secrets(url)!r} names a place, and memory: has none")
    return InMemoryStore(namespace=namespace, language=language)


def _lance(url: str, namespace: str, language: str | None) -> VectorStore:
    return LanceStore(_path(url), namespace=namespace, language=language)


def _postgres(url: str, namespace: str, language: str | None) -> VectorStore:
    return PgVectorStore(without_options(url, _OPTIONS), namespace=namespace, language=language)


def _milvus(url: str, namespace: str, language: str | None) -> VectorStore:
    parts = _checked(url)
    if not parts.host:
        return MilvusStore(_path(url), namespace=namespace, language=language)
    given = [part for part in (parts.user, parts.password) if part]
    return MilvusStore(
        _address(parts, _MILVUS_PORT), token=":".join(given) or None, namespace=namespace, language=language
    )


def _qdrant(url: str, namespace: str, language: str | None) -> VectorStore:
    parts = _checked(url)
    key = parts.password or parts.user
    return QdrantStore(_address(parts, _QDRANT_PORT), api_key=key, namespace=namespace, language=language)


_OPTIONS_OF_A_FOLDER = re.compile(rf"\?({'|'.join(_OPTIONS)})=")

_OPENERS: dict[str, Callable[[str, str, str | None], VectorStore]] = {
    "lance": _lance,
    "memory": _memory,
    "postgresql": _postgres,
    "postgres": _postgres,
    "milvus": _milvus,
    "milvus+https": _milvus,
    "qdrant": _qdrant,
    "qdrant+https": _qdrant,
}


def _checked(url: str) -> StoreUrl:
    parts = parsed_url(url)
    if unknown := sorted(parts.options.keys() - set(_OPTIONS)):
        raise ConfigurationError(
            f"{without_secrets(url)!r} has the option {unknown[0]!r}, and such a URL has only {' and '.join(_OPTIONS)}"
        )
    return parts


def _path(url: str) -> str:
    parts = _checked(url)
    if parts.names_server or not parts.path.strip("/"):
        raise ConfigurationError(
            f"{without_secrets(url)!r} names no folder or file of this machine: write {parts.scheme}:///folder, or "
            f"{parts.scheme}:folder for a relative one"
        )
    # On Windows /C:/folder is C:\folder.
    return url2pathname(quote(parts.path))


def _address(parts: StoreUrl, port: int) -> str:
    if not parts.host:
        raise ConfigurationError(f"a URL of {parts.scheme} names a host: {parts.scheme}://localhost:{port}")
    host = f"[{parts.host}]" if ":" in parts.host else parts.host
    kind = "https" if parts.scheme.endswith("+https") else "http"
    return f"{kind}://{host}:{port if parts.port is None else parts.port}{quote(parts.path)}"
