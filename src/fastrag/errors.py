"""Every exception fastrag raises on purpose.

::

    FastRAGError
    ├── ConfigurationError (also ValueError)   a request that cannot be satisfied: wrong argument, unreadable file
    │   └── MissingDependencyError (also ImportError)   an extra is not installed; names the `pip install` line
    ├── LoadError                      a file could not be turned into Documents
    ├── ModelError                     a local model is missing, unreadable or gave what it should not
    ├── StoreError                     a vector store could not do what was asked
    │   └── EmbedderMismatchError      the index was built with another embedder or dimension
    ├── UnreadableReplyError           a judge's reply was not of the form asked for, and neither was its next one
    └── ServiceError                   a model endpoint failed
        ├── ServiceUnavailableError    no connection, or 5xx after the client's retries
        ├── ServiceTimeoutError        no reply within `timeout_s`
        ├── ServiceRejectedError       the endpoint refused the request (401, 400, 404, ...)
        └── MalformedReplyError        the endpoint answered something that is not the protocol

A message says what was wrong, the value, and what to do about it. Errors of other libraries are translated where
that library is called and kept as ``__cause__``.
"""

from __future__ import annotations


class FastRAGError(Exception):
    """Base of every error fastrag raises on purpose; catch it to catch them all.

    >>> issubclass(ConfigurationError, FastRAGError)
    True
    """


class ConfigurationError(FastRAGError, ValueError):
    """What was asked for cannot be satisfied: a wrong argument, an unsatisfiable benchmark, an unreadable file."""


class MissingDependencyError(ConfigurationError, ImportError):
    """An optional dependency is not installed; the message names the ``pip install`` line that brings it."""


class LoadError(FastRAGError):
    """A file could not be turned into Documents."""


class ModelError(FastRAGError):
    """A local model is missing, unreadable, or returned something it should not."""


class StoreError(FastRAGError):
    """A vector store could not do what was asked; what it already held is untouched."""


class EmbedderMismatchError(StoreError):
    """The index was built with another embedder, or with vectors of another dimension."""


class UnreadableReplyError(FastRAGError):
    """A judge's reply was not of the form asked for, and neither was the one to the remark that said so."""


class ServiceError(FastRAGError):
    """A model endpoint failed. Its subclasses say how."""


class ServiceUnavailableError(ServiceError):
    """The endpoint could not be reached, or answered 5xx or 429 until the client's retries or time were used up.

    Attributes:
        retry_after_s: How many seconds the endpoint asked to wait (``Retry-After``); None where it did not say.
    """

    retry_after_s: float | None = None


class ServiceTimeoutError(ServiceError):
    """The endpoint did not answer within the client's ``timeout_s``."""


class ServiceRejectedError(ServiceError):
    """The endpoint refused the request: wrong key, unknown model, bad parameter.

    Attributes:
        status: The HTTP status of the refusal, such as 400; None where the client itself held the request back.
    """

    status: int | None = None


class MalformedReplyError(ServiceError):
    """The endpoint answered, but not with what its protocol promises."""
