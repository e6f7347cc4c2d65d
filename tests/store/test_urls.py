import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.errors import ConfigurationError
from fastrag.store.urls import options_of, parsed_url, scheme_of, without_options, without_secrets

SECRET = "s3cr3t-k3y"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("memory:", "memory:"),
        ("lance:///data/a b", "lance:///data/a b"),
        ("lance:some/folder?namespace=x", "lance:some/folder"),
        ("some/folder?odd#name", "some/folder?odd#name"),
        ("qdrant://localhost:6333", "qdrant://localhost:6333"),
        (f"qdrant://:{SECRET}@localhost:6333/?namespace=x", "qdrant://***@localhost:6333/"),
        (f"qdrant+https://{SECRET}@[::1]:6333", "qdrant+https://***@[::1]:6333"),
        (f"postgresql://ann:{SECRET}@one:5432,two:5433/db", "postgresql://***@one:5432,two:5433/db"),
        (f"postgresql://ann:{SECRET}@db/docs?sslpassword={SECRET}", "postgresql://***@db/docs"),
        (f"postgresql:///docs?host=/sock&password={SECRET}", "postgresql:///docs"),
        (f"postgresql://ann:{SECRET}", "postgresql://***"),
        (f"postgresql://ann:a?{SECRET}@db/docs", "postgresql://***"),
        (f"postgresql://ann:a#{SECRET}@db/docs", "postgresql://***"),
        (f"postgresql://ann:a/{SECRET}@db/docs", "postgresql://***@db/docs"),
        (f"postgresql://ann:a@{SECRET}@db/docs", "postgresql://***@db/docs"),
        (f"nonsense://ann:{SECRET}@db:x/docs", "nonsense://***@db:***/docs"),
    ],
)
def test_no_secret_is_shown(url, shown):
    assert without_secrets(url) == shown
    assert SECRET not in without_secrets(url)


ANYTHING = st.text(st.characters(codec="utf-8"), min_size=1)


@given(ANYTHING, st.sampled_from(["", "/docs", "?x=1", "/docs?namespace=a", "#x"]))
def test_no_password_is_shown_whatever_is_in_it(password, rest):
    secret = f"<{password}>"  # so that no piece of the URL's own looks like it
    for userinfo in (f":{secret}@", f"user:{secret}@", f"{secret}@"):
        assert secret not in without_secrets(f"qdrant://{userinfo}host:6333{rest}")


@given(ANYTHING)
def test_what_is_refused_shows_no_password_either(password):
    secret = f"<{password}>"
    url = f"qdrant://user:{secret}@host:6333"
    try:
        shown = repr(parsed_url(url))
    except ConfigurationError as error:
        shown = "".join(traceback.format_exception(error))
    assert secret not in shown
    assert repr(secret)[1:-1] not in shown


def test_parts_are_percent_decoded():
    url = parsed_url("Qdrant+HTTPS://us%40er:p%3Aa%2Fss@Host:6333/a%20b/%C3%BC?namespace=x&b=%26+1")
    assert (url.scheme, url.host, url.port) == ("qdrant+https", "host", 6333)
    assert (url.user, url.password) == ("us@er", "p:a/ss")
    assert url.path == "/a b/ü"
    assert url.options == {"namespace": "x", "b": "& 1"}
    url = parsed_url("memory:")
    assert (url.host, url.port, url.user, url.password, url.path, url.options) == ("", None, None, None, "", {})


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"qdrant://x:{SECRET}@host:65536", "malformed"),
        (f"qdrant://x:{SECRET}@[::1", "malformed"),
        (f"qdrant://x:{SECRET}@host/%ff", "malformed"),
        (f"qdrant://{SECRET}@host?namespace", "malformed"),
        (f"qdrant://{SECRET}@host?a=1&a={SECRET}", "twice"),
        (f"qdrant://{SECRET}@host?a=1#b", "%23"),
        (f"qdrant://{SECRET}@ho\nst", "line breaks"),
    ],
)
def test_what_is_malformed_is_refused_without_showing_secrets(url, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        parsed_url(url)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_what_a_url_is():
    assert scheme_of("memory:") == "memory"
    assert scheme_of("POSTGRES://x") == "postgres"
    for path in ("folder", "/a:b", "./a:b", "C:\\x", "C:/x", "1:2", ":x", ""):
        assert scheme_of(path) is None


def test_options():
    url = "postgresql://u:p%3F@h/db?application_name=a%26b&name%73pace=x&sslmode=require"
    assert options_of(url) == {"application_name": "a&b", "namespace": "x", "sslmode": "require"}
    assert without_options(url, {"namespace"}) == "postgresql://u:p%3F@h/db?application_name=a%26b&sslmode=require"
    assert without_options("lance:x?namespace=a", {"namespace"}) == "lance:x"
    assert without_options("lance:x", {"namespace"}) == "lance:x"
