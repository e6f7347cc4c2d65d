"""Who is answered: every request as an ASGI server hands it over."""

import asyncio

import pytest

from fastrag.benchmark.report.view.guard import LOOPBACK, Guard, host_headers

HOSTS = host_headers([*LOOPBACK, "box", "proxy:443"], 8711)


def ask(*headers, method="GET"):
    """The status, headers and body of the reply."""
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
        await send({"type": "http.response.body", "body": b"secret"})

    async def send(message):
        sent.append(message)

    async def main():
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        guard = Guard(app, hosts=HOSTS, headers={"Content-Security-Policy": "default-src 'none'"})
        await guard({"type": "http", "method": method, "headers": raw}, None, send)

    asyncio.run(main())
    start, body = sent
    assert (b"content-security-policy", b"default-src 'none'") in start["headers"]
    return start["status"], dict(start["headers"]), body["body"]


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8711", "localhost:8711", "LOCALHOST:8711", "[::1]:8711", "box:8711", "proxy", "proxy:443"]
)
def test_allowed_names_are_answered(host):
    assert ask(("host", host))[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8711",
        "localhost",
        "localhost:80",
        "localhost:87110",
        "localhost.:8711",
        "localhost:8711.evil.example",
        "evil.example@localhost:8711",
        "127.0.0.1.evil.example:8711",
        "127.1:8711",
        "2130706433:8711",
        "proxy:8711",
        "box",
        "",
        " localhost:8711",
        "localhost:8711,evil.example",
        "localhost:8711\x00",
        "locälhost:8711",
    ],
)
def test_other_names_are_not(host):
    status, _, body = ask(("host", host))
    assert status == 403
    assert b"secret" not in body


def test_no_name_and_two_names_are_not():
    assert ask()[0] == 403
    assert ask(("host", "localhost:8711"), ("host", "localhost:8711"))[0] == 403


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("origin", "http://localhost:8711", 200),
        ("origin", "https://localhost:8711", 200),
        ("origin", "http://127.0.0.1:8711", 403),  # another origin than the page's
        ("origin", "http://localhost", 403),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "", 403),
        ("origin", "http://localhost:8711.evil.example", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "", 403),
    ],
)
def test_other_sites_are_refused(name, value, status):
    assert ask(("host", "localhost:8711"), (name, value))[0] == status


def test_of_several_origins_all_have_to_be_the_pages_own():
    own, other = ("origin", "http://localhost:8711"), ("origin", "http://evil.example")
    for origins in ([own, other], [other, own]):
        assert ask(("host", "localhost:8711"), *origins)[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "X"])
def test_only_reading_is_possible(method):
    status, headers, body = ask(("host", "localhost:8711"), method=method)
    assert (status, headers[b"allow"]) == (405, b"GET, HEAD")
    assert b"secret" not in body


def test_a_refused_head_has_no_body():
    status, _, body = ask(("host", "evil.example"), method="HEAD")
    assert (status, body) == (403, b"")
