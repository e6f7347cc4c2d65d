"""A real Milvus server for tests: that of the package ``milvus`` on PyPI, version 2.3.5.

It binds to every interface of the machine, whatever its configuration says. So it asks for a password, which is new
each time, its ports are free ones, and it is killed at the end of the tests.
"""

import contextlib
import itertools
import lzma
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import platformdirs

# A server ticks five times a second, and looks at what is to be loaded once: tests would wait most of the time.
QUICK = {
    "PROXY_TIMETICKINTERVAL": "10",
    "QUERYCOORD_CHECKINTERVAL": "20",
    "QUERYCOORD_COLLECTIONOBSERVERINTERVAL": "20",
    "QUERYCOORD_CHECKCHANNELINTERVAL": "20",
    "QUERYCOORD_CHECKSEGMENTINTERVAL": "20",
    "QUERYCOORD_CHECKINDEXINTERVAL": "20",
    "QUERYCOORD_DISTPULLINTERVAL": "20",
    "QUERYCOORD_UPDATENEXTTARGETINTERVAL": "0.1",
    "QUERYCOORD_LEADERVIEWUPDATEINTERVAL": "0.1",
    # For so many seconds the server that takes a killed one's place waits for it.
    "COMMON_SESSION_TTL": "10",
    # An answer of 64 MB takes long to make.
    "PROXY_GRPC_SERVERMAXSENDSIZE": "8000000",
}
_START_S = 120


class RunningMilvus:
    """The server, on ports of its own and with its data in ``folder``.

    Attributes:
        url: Where it listens.
        token: User and password.
    """

    def __init__(self, folder):
        import milvus

        self._folder = folder
        self._programs = _unpacked(Path(milvus.__file__).parent / "data" / "bin")
        config = milvus.MilvusServerConfig(data_dir=str(folder))
        names = [name for name in config.configurable_items if name.endswith("_port")]
        *ports, self._metrics_port, peer_port = _free_ports(len(names) + 2)
        for name, port in zip(names, ports, strict=True):
            config.configurable_items[name][1] = port
        config.set("authorization_enabled", True)
        config.resolve_storage()
        config.write_config()
        client, peer = (f"http://127.0.0.1:{port}" for port in (config.get("etcd_port"), peer_port))
        (folder / "etcd.yaml").write_text(
            f"listen-client-urls: {client}\nadvertise-client-urls: {client}\nlisten-peer-urls: {peer}\n"
            f"initial-advertise-peer-urls: {peer}\ninitial-cluster: default={peer}\n"
        )
        self.url = f"http://127.0.0.1:{config.get('proxy_port')}"
        self.token = "root:Milvus"
        self.process = None

    def start(self):
        environment = {
            **os.environ,
            **QUICK,
            "DEPLOY_MODE": "STANDALONE",
            "ETCD_CONFIG_PATH": str(self._folder / "etcd.yaml"),
            "METRICS_PORT": str(self._metrics_port),
            "MILVUS_RUN_DIR": str(self._folder / "run"),
            "LD_LIBRARY_PATH": str(self._programs),
        }
        with (self._folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._programs / "milvus", "run", "standalone"],
                cwd=self._folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            assert self.process.poll() is None, "the server ended: see its log"
            assert time.monotonic() < deadline, f"the server did not start within {_START_S} s"
            time.sleep(0.05)

    def set_password(self):
        """Take another password than the one that every server begins with."""
        from pymilvus import MilvusClient

        client = MilvusClient(self.url, token=self.token, timeout=30, dedicated=True)
        password = secrets.token_urlsafe(12)
        client.update_password("root", "Milvus", password)
        client.close()
        self.token = f"root:{password}"

    def pause(self):
        """Have it answer nothing until `resume`."""
        os.killpg(self.process.pid, signal.SIGSTOP)
        # A busy machine takes a while to stop all threads; a call meanwhile would be answered.
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def resume(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    def kill(self):
        """End it without warning."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _answers(self):
        from pymilvus import MilvusClient, MilvusException

        try:
            client = MilvusClient(self.url, token=self.token, timeout=1, dedicated=True)
        except MilvusException:
            return False
        try:
            client.list_collections(timeout=5)
        except MilvusException:
            return False
        finally:
            client.close()
        return True


def _unpacked(packed):
    """The folder of the server's programs, which are unpacked once."""
    programs = Path(platformdirs.user_cache_dir("fastrag")) / "milvus-2.3.5"
    if not programs.exists():
        programs.parent.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(dir=programs.parent))
        for file in packed.glob("*.lzma"):
            target = begun / file.stem
            with lzma.open(file) as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            target.chmod(0o755)
        try:
            begun.rename(programs)
        except OSError:
            shutil.rmtree(begun)  # another process was quicker
    return programs


def _free_ports(number):
    """Ports that nobody has, nor is given who asks the system for any port: a killed server finds its own again."""
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    candidates = [port for port in range(10_000, 65_536) if not first <= port <= last]
    return list(itertools.islice(filter(_is_free, random.sample(candidates, len(candidates))), number))


def _is_free(port):
    with socket.socket() as candidate:
        try:
            candidate.bind(("", port))
        except OSError:
            return False
    return True
