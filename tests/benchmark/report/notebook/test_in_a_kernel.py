"""A notebook that is really run: what its cells show, and that a run's progress is updated in place."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("ipykernel")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

PIPELINE = """
import asyncio
from fastrag import Document
from fastrag.benchmark import Benchmark, EvalSample, compare, rank
from fastrag.benchmark.metrics import MRR, RecallAtK
from fastrag.benchmark.report.progress.notebook import Cell

# Updates at an interval that the run is sure to be longer than.
Cell.every_s = 0.0

class Pipeline:
    def __init__(self, worse=0):
        self.worse = worse

    async def retrieve(self, question):
        await asyncio.sleep(0)
        if question == "q7":
            raise ValueError("<script>boom</script>")
        return [Document("x", "")] * (int(question[1:]) % 3 + self.worse) + [Document("a", "")]

async def run(name, worse=0):
    samples = [EvalSample(f"q{i}", ["a"]) for i in range(40)]
    return await Benchmark(Pipeline(worse), samples, [RecallAtK(5), MRR()]).run(name, progress=True)
"""
CELLS = [
    PIPELINE,
    'first = await run("first <b>")\nsecond = await run("second", 1)',
    "first",
    "compare(first, second)",
    'rank([first, second], "mrr")',
    "[first]",
    'print(first)\nprint(compare(first, second).to_pandas()["verdict"].tolist())',
    """
from fastrag import InMemoryStore
from fastrag.ingest import ingest
await ingest([Document("a", "Some text."), Document("b", "More.")], store=InMemoryStore(), progress=True)
None""",
]


class Client(nbclient.NotebookClient):
    """Counts the messages that replace an output."""

    updates = 0

    def process_message(self, message, cell, cell_index):
        self.updates += message["msg_type"] == "update_display_data"
        return super().process_message(message, cell, cell_index)


@pytest.fixture(scope="module")
def client():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    client = Client(notebook, timeout=150, kernel_name="python3")
    client.execute()
    return client


@pytest.fixture
def outputs(client):
    return [cell.outputs for cell in client.nb.cells]


def test_progress_is_one_output_a_run_updated_in_place(client, outputs):
    shown = outputs[1]
    assert [output.output_type for output in shown] == ["display_data"] * 2
    assert client.updates >= 2
    html = shown[0].data["text/html"]
    assert "40/40 questions in 0:" in html
    assert "first &lt;b&gt;" in html
    assert "1 errored" in html
    assert '<progress max="40" value="40"' in html
    assert "<td>1.000</td><td>39</td>" in html
    assert "<script" not in html
    text = shown[1].data["text/plain"]
    assert text.startswith("second: 40/40 questions in 0:")
    assert "recall@5 1.000 (n=39)" in text


@pytest.mark.parametrize(
    ("cell", "beginning", "part"),
    [
        (2, "run ", "first &lt;b&gt;"),
        (3, "run ", "(baseline)"),
        (4, "best by mrr: first <b>", "best by mrr: first &lt;b&gt;"),
    ],
)
def test_records_are_tables_in_html_and_in_text(outputs, cell, beginning, part):
    [output] = outputs[cell]
    assert set(output.data) == {"text/html", "text/plain"}
    assert output.data["text/plain"].startswith(beginning)
    assert "<table" in output.data["text/html"]
    assert part in output.data["text/html"]


def test_in_a_list_they_are_short(outputs):
    [output] = outputs[5]
    assert set(output.data) == {"text/plain"}
    assert output.data["text/plain"].startswith("[BenchmarkResult(name='first <b>'")


def printed(outputs, stream):
    """What the cell wrote; nothing else came out of it."""
    assert {(output.output_type, output.get("name")) for output in outputs} == {("stream", stream)}
    return "".join(output.text for output in outputs)


def test_printed_they_are_tables(outputs):
    text = printed(outputs[6], "stdout")
    assert "mrr\n  first <b> " in text
    assert text.splitlines()[-1] == "['no difference shown', 'worse']"


def test_an_ingest_writes_lines(outputs):
    assert printed(outputs[7], "stderr") == "ingest: 2/2 documents, 2 chunks\n"


def test_ipython_in_a_terminal_is_no_notebook():
    code = """
import json
from IPython.terminal.interactiveshell import TerminalInteractiveShell
shell = TerminalInteractiveShell.instance(simple_prompt=True, history_manager=None)
from fastrag.benchmark.report.progress.display import surface
from fastrag._support.progress import is_notebook
print(json.dumps([is_notebook(), type(surface()).__name__]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [False, "Lines"]
