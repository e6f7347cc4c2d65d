"""The file itself: one that asks nothing, lets no other script in, and says the most important without any."""

import base64
import gzip
import hashlib
import re

import pytest

from fastrag.benchmark import BenchmarkResult
from fastrag.benchmark.report.html.page import shell_html
from fastrag.benchmark.report.results_json import results_dict

from .pages import go, settled


def policy_of(text):
    [content] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    content = content.replace("&#39;", "'")
    return dict(directive.strip().split(" ", 1) for directive in content.split(";"))


def digest(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_lets_in_one_script_and_one_style(real):
    policy = policy_of(real.text)
    [style] = re.findall(r"<style>(.*?)</style>", real.text, re.DOTALL)
    scripts = re.findall(r"<script>(.*?)</script>", real.text, re.DOTALL)
    assert policy == {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "script-src": digest(scripts[-1]),
        "style-src": digest(style),
    }
    assert len(scripts) == 1
    # Everything before the policy is not under it.
    assert real.text.index("Content-Security-Policy") < real.text.index("<style>")
    assert set(re.findall(r"<(\w+)", real.text[: real.text.index("Content-Security-Policy")])) == {
        "html",
        "head",
        "meta",
    }


def test_the_page_without_data_is_small(real):
    packed = sum(map(len, re.findall(r'data-part="[^"]*">([^<]*)<', real.text)))
    assert len(real.text.encode()) - packed < 1_500_000
    assert len(shell_html("title").html.encode()) < 1_500_000


def test_other_scripts_do_not_run(browser, real, tmp_path):
    evil = (
        "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>"
        "<style>body { outline: 7px solid red }</style><p style='outline: 7px solid red' id=styled>x</p>"
        "<iframe srcdoc='<script>parent.hurt = 3</script>'></iframe>"
        "<a href='javascript:window.hurt = 4' id=link>x</a><base href='https://example.org/'>"
        "<script src='https://example.org/x.js'></script><object data='https://example.org/'></object>"
        "<form action='https://example.org/' id=form></form>"
    )
    # Where a text would stand that was not escaped.
    text = real.text.replace('<div id="report">', f'{evil}<div id="report">')
    assert text != real.text
    (tmp_path / "evil.html").write_text(text, "utf-8")
    context = browser.new_context()
    # The browser tells of requests that the policy then stopped, too.
    requests, stopped = [], []
    context.on("request", lambda request: requests.append(request.url))
    context.on("requestfailed", lambda request: "csp" in request.failure.lower() and stopped.append(request.url))
    page = context.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto((tmp_path / "evil.html").as_uri())
    settled(page)
    page.evaluate("() => { document.getElementById('link').click(); document.getElementById('form').submit() }")
    go(page, "#/questions")
    assert page.evaluate("() => window.hurt") is None
    assert page.evaluate("() => getComputedStyle(document.body).outlineStyle") == "none"
    assert page.evaluate("() => getComputedStyle(document.getElementById('styled')).outlineStyle") == "none"
    assert [url for url in requests if url.startswith("http") and url not in stopped] == []
    assert sum("Content Security Policy" in text for text in refused) >= 6
    context.close()


def test_without_scripts_the_overview_is_a_table(browser, real):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(real.url)
    text = page.locator("main").inner_text()
    assert real.reported.is_partial in text
    assert "blocked here" in text
    shown = [row.split("\t") for row in page.locator("table").inner_text().split("\n")]
    loaded = [BenchmarkResult.load(path) for path in real.reported.paths[:5]]
    told = results_dict(loaded)["results"]
    [section] = [place for place, row in enumerate(shown) if row == ["mrr"]]
    for row, result in zip(shown[section + 1 :], told, strict=False):
        evidence = result["metrics"]["mrr"]
        assert row[1] == f"{evidence['mean']:.3f}"
        assert row[2] == f"{evidence['interval']['low']:.3f} to {evidence['interval']['high']:.3f}"
        assert row[3] == str(evidence["questions"])
    context.close()


def with_part(text, name, content):
    packed = base64.b64encode(gzip.compress(content)).decode()
    return re.sub(f'(data-part="{name}">)[^<]*<', rf"\g<1>{packed}<", text)


@pytest.mark.parametrize("content", [b'{"comparisons": null}', b'{"comparisons": [', b"[]", b"\xff"])
def test_a_damaged_part_leaves_the_others(browser, real, tmp_path, content):
    path = tmp_path / "damaged.html"
    path.write_text(with_part(real.text, "comparison-0-1", content), "utf-8")
    page = browser.new_context().new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri() + "#/compare/keywords/hybrid")
    page.wait_for_selector("main [role=alert]")
    go(page, "#/compare/keywords/repeated")
    assert page.locator("table.comparison").count() == 1
    go(page, "#/questions")
    assert page.locator(".virtual-table tbody tr").count() > 10
    assert errors == []
    page.context.close()
