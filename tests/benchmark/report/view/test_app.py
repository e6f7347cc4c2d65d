"""What the application answers when something goes wrong behind it."""

import httpx
import pytest

from fastrag.benchmark.report.html.page import Shell
from fastrag.benchmark.report.view.guard import host_headers
from fastrag.benchmark.report.view.server import make_app
from fastrag.errors import ConfigurationError


class Failing:
    """Snapshots of which none can be made."""

    def __init__(self, error):
        self.error = error

    async def newest(self):
        raise self.error

    def find(self, token):
        return self

    async def part(self, name):
        raise self.error


async def ask(error, path):
    app = make_app(Failing(error), Shell("<p>page</p>", "default-src 'none'"), host_headers(["localhost"], 80))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        reply = await client.get(path)
    assert reply.headers["content-security-policy"] == "default-src 'none'"
    return reply


@pytest.mark.parametrize("path", ["/data/overview.json", "/data/token/questions.json"])
async def test_what_cannot_be_made_is_a_sentence(path):
    reply = await ask(ConfigurationError("<b>runs\x1b</b>\ndo not fit"), path)
    assert (reply.status_code, reply.text) == (500, "<b>runs\\x1b</b>\\ndo not fit\n")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


async def test_a_bug_says_nothing_of_itself():
    reply = await ask(ZeroDivisionError("secret"), "/data/overview.json")
    assert (reply.status_code, reply.text) == (500, "Internal Server Error")


async def test_a_part_that_is_not_there():
    assert (await ask(KeyError("secret"), "/data/token/nothing.json")).status_code == 404
