"""Starting the servers that the tests start, for as long as something is measured."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

TESTS = Path(__file__).parents[2] / "tests" / "store"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; ``pid`` is that of its first process, None where it is not known."""

    url: str
    pid: int | None = None

    def mib(self) -> float:
        """How much memory its processes have by now, what they share counted once."""
        parents = {int(stat.parent.name): stat for stat in Path("/proc").glob("[0-9]*/stat")}
        children: dict[int, list[int]] = {}
        for process, stat in parents.items():
            try:
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(process)
        todo, total_kib = [self.pid] if self.pid else [], 0
        while todo:
            process = todo.pop()
            todo += children.get(process, [])
            try:
                rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
            except OSError:
                continue
            total_kib += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        return total_kib / 1024


@contextmanager
def postgres() -> Iterator[Server]:
    """PostgreSQL with pgvector and pg_textsearch, with memory as for a database of its own machine."""
    tests = _of_tests("postgres", "postgres_server")
    tests.SETTINGS |= {"shared_buffers": "2GB", "max_wal_size": "8GB", "fsync": "on"}
    with contextmanager(tests.running_with_textsearch)() as server:
        url = f"postgresql://postgres@/postgres?host={quote(str(server.home), safe='')}"
        yield Server(url, server.pid())


@contextmanager
def milvus() -> Iterator[Server]:
    """Milvus 2.3.5, standalone."""
    tests = _of_tests("milvus", "milvus_server")
    # Its clock as it comes: the tests' hurry is too much for a server with this much to do.
    tests.QUICK.clear()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = tests.RunningMilvus(Path(folder))
        try:
            server.start()
            server.set_password()
            yield Server(server.url.replace("http://", f"milvus://{server.token}@"), server.process.pid)
        finally:
            server.kill()


@contextmanager
def qdrant() -> Iterator[Server]:
    """The client's imitation of a server, in this process."""
    stub = _of_tests("qdrant", "qdrant_stub").QdrantStub()
    try:
        yield Server(stub.url)
    finally:
        stub.stop()


def _of_tests(engine: str, module: str):  # type: ignore[no-untyped-def]
    folder = str(TESTS / engine)
    sys.path.insert(0, folder)
    try:
        return __import__(module)
    except ImportError as error:
        raise SystemExit(f"no server can be started ({error}): give the --url of one") from error
    finally:
        sys.path.remove(folder)
