"""URLs that name a place of a store: taking them apart, and showing them without what is secret in them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, unquote_plus, urlsplit

from fastrag.errors import ConfigurationError

# Two letters at least: "C:" is a drive of Windows.
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):", re.ASCII)


@dataclass(frozen=True, slots=True)
class StoreUrl:
    """A URL in its parts, percent-decoded.

    Attributes:
        scheme: In small letters.
        host: Empty where the URL names none.
        port: None where the URL names none.
        user: What stands before the host; None where nothing does.
        password: None where there is none.
        path: With its leading slash, where it has one.
        options: What follows the question mark.
    """

    scheme: str
    host: str
    port: int | None
    user: str | None = field(repr=False)
    password: str | None = field(repr=False)
    path: str
    options: dict[str, str] = field(repr=False)

    @property
    def names_server(self) -> bool:
        """Whether anything stands where a server and who asks it do: a host, a port, a user or a password."""
        return bool(self.host) or any(part is not None for part in (self.port, self.user, self.password))


def scheme_of(url: str) -> str | None:
    """The scheme in small letters; None for a text that is no URL, but a plain path.

    >>> scheme_of("Lance:///data"), scheme_of("some/folder"), scheme_of(r"C:\\\\data")
    ('lance', None, None)
    """
    found = _SCHEME.match(url)
    return found[1].lower() if found else None


def parsed_url(url: str) -> StoreUrl:
    """``url`` in its parts.

    Raises:
        ConfigurationError: It is malformed; what is said of it holds no password.

    >>> parsed_url("qdrant://:s%40crt@localhost:6333/?namespace=faq")
    StoreUrl(scheme='qdrant', host='localhost', port=6333, path='/')
    """
    parts = _split(url)
    try:
        port = parts.port
        path, user, password = (_decoded(part) for part in (parts.path, parts.username, parts.password))
    except ValueError:
        raise _malformed(url) from None
    return StoreUrl(parts.scheme, parts.hostname or "", port, user, password, path or "", options_of(url))


def options_of(url: str) -> dict[str, str]:
    """What follows the question mark of ``url``.

    Raises:
        ConfigurationError: It is malformed, or gives an option twice; what is said of it holds no password.

    >>> options_of("lance:some/folder?namespace=faq")
    {'namespace': 'faq'}
    """
    query = _split(url).query
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except ValueError:
        raise _malformed(url) from None
    options = dict(pairs)
    if len(options) < len(pairs):
        raise ConfigurationError(f"{without_secrets(url)!r} gives one of its options twice")
    return options


def without_options(url: str, names: Collection[str]) -> str:
    """``url`` without the options of these ``names``, and else as it was.

    >>> without_options("postgresql://db/docs?namespace=faq&sslmode=require", {"namespace"})
    'postgresql://db/docs?sslmode=require'
    """
    place, _, query = url.partition("?")
    kept = "&".join(pair for pair in query.split("&") if unquote_plus(pair.partition("=")[0]) not in names)
    return f"{place}?{kept}" if kept else place


def without_secrets(url: str) -> str:
    """``url`` as it may be shown: without user, password and options, and without what could be a part of them.

    >>> without_secrets("postgresql://ann:s3cret@db.example:5432/docs?sslpassword=x")
    'postgresql://***@db.example:5432/docs'
    >>> without_secrets("some/folder")
    'some/folder'
    """
    if scheme_of(url) is None:
        return url
    scheme, _, rest = url.partition(":")
    place, options = _cut(rest)
    if not place.startswith("//"):
        return f"{scheme}:{place}"
    if "@" in options:
        # A password with an unescaped '?' or '#' in it: what stands before it is no host.
        return f"{scheme}://***"
    _, at, place = place[2:].rpartition("@")
    authority, slash, path = place.partition("/")
    host, colon, port = authority.rpartition(":")
    if colon and not port.isdecimal() and not authority.endswith("]"):
        # Where somebody forgot the host, what looks like a port is the password.
        authority = f"{host}:***" if at else "***"
    return f"{scheme}://{'***@' if at else ''}{authority}{slash}{path}"


def _cut(rest: str) -> tuple[str, str]:
    """``rest`` up to its first '?' or '#', and what follows that."""
    found = re.search("[?#]", rest)
    return (rest[: found.start()], rest[found.end() :]) if found else (rest, "")


def _split(url: str) -> SplitResult:
    shown = without_secrets(url)
    if not url.isprintable():
        raise ConfigurationError(f"a URL has no line breaks or other control characters in it: {shown!r}")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _malformed(url) from None
    if parts.fragment:
        raise ConfigurationError(f"{shown!r} has a '#' in it: percent-encode it as %23")
    return parts


def _malformed(url: str) -> ConfigurationError:
    # Raised without its cause, which repeats a part of the URL; that may be one of the password.
    return ConfigurationError(
        f"{without_secrets(url)!r} is malformed: percent-encode (%40 for @) what is special in a name or password"
    )


def _decoded(part: str | None) -> str | None:
    return None if part is None else unquote(part, errors="strict")
