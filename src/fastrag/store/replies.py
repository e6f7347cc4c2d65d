"""What a server said, as it may be shown: without the secret that it was given and may repeat."""

from __future__ import annotations

_MOST_SHOWN = 300  # characters


def quoted(words: str, secret: str) -> str:
    """``words`` of a server for a message: on one line, cut where they are long, and without ``secret``.

    An empty ``secret`` is none.

    >>> quoted("no user\\nhas the key s3cret", "s3cret")
    'no user has the key ***'
    """
    line = " ".join((words.replace(secret, "***") if secret else words).split())
    return line if len(line) <= _MOST_SHOWN else line[:_MOST_SHOWN] + "..."


def shown_cause(error: Exception, secret: str) -> Exception | None:
    """``error`` as the cause of one of ours; None where it repeats ``secret``.

    >>> shown_cause(ValueError("bad key s3cret"), "s3cret") is None, shown_cause(ValueError("bad key"), "s3cret")
    (True, ValueError('bad key'))
    """
    return None if secret and secret in f"{error} {error!r}" else error
