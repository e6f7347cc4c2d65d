"""Files of lines: whole lines or none, pushed to the disk in time, one writer."""

import asyncio
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastrag.benchmark.line_file import LineFile, read_lines, seal, unseal
from fastrag.errors import ConfigurationError


@pytest.fixture
def synced(monkeypatch):
    """Set whenever a file was pushed to the disk; ``synced.count`` says how often."""
    event = threading.Event()
    event.count = 0
    real = os.fsync

    def fsync(handle):
        real(handle)
        event.count += 1
        event.set()

    monkeypatch.setattr(os, "fsync", fsync)
    return event


async def test_fifty_lines_are_pushed_to_the_disk(tmp_path, synced):
    file = LineFile(tmp_path / "f")
    for _ in range(49):
        file.append(b'{"a":1}')
    assert synced.count == 0
    file.append(b'{"a":1}')
    assert await asyncio.to_thread(synced.wait, 30)
    file.close()


async def test_a_single_line_is_pushed_to_the_disk_after_a_second(tmp_path, synced):
    file = LineFile(tmp_path / "f")
    file.append(b'{"a":1}')
    assert synced.count == 0
    assert await asyncio.to_thread(synced.wait, 30)
    file.close()


async def test_a_disk_that_refuses_is_an_error_of_the_next_line(tmp_path, monkeypatch):
    file = LineFile(tmp_path / "f")
    refused = threading.Event()

    def refuse(handle):
        refused.set()
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    for _ in range(50):
        file.append(b'{"a":1}')
    await asyncio.to_thread(refused.wait, 30)

    async def append_on():
        for _ in range(1_000):
            file.append(b'{"a":1}')
            await asyncio.sleep(0.001)

    with pytest.raises(OSError, match="Input/output error"):
        await append_on()
    file.close()


async def test_a_line_is_in_the_file_when_append_returns(tmp_path):
    file = LineFile(tmp_path / "f")
    lines = []
    for i in range(5):
        file.append(b'{"i":%d}' % i)
        lines.clear()
        read_lines(tmp_path / "f", lambda number, line: lines.append((number, line)))
        assert lines[-1] == (i + 1, b'{"i":%d}' % i)
    file.close()
    file.close()


async def test_one_writer(tmp_path):
    file = LineFile(tmp_path / "f")
    with pytest.raises(BlockingIOError):
        LineFile(tmp_path / "f")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    with pytest.raises(BlockingIOError):
        LineFile(tmp_path / "link")
    file.close()
    LineFile(tmp_path / "f").close()


async def test_only_ones_own_file_is_removed(tmp_path):
    path = tmp_path / "f"
    file = LineFile(path)
    path.unlink()
    path.write_text("another's")
    assert not file.is_in_place()
    file.remove()
    assert path.read_text() == "another's"
    file.close()


contents = st.binary(max_size=40).map(lambda data: b'{"x":"' + data.replace(b"\n", b"") + b'"}')


@given(contents)
def test_what_is_sealed_can_be_unsealed(line):
    assert unseal(seal(line)[:-1]) == line


@given(contents, st.data())
def test_a_changed_byte_breaks_the_seal(line, data):
    sealed = bytearray(seal(line)[:-1])
    at = data.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= data.draw(st.integers(1, 255))
    assert unseal(bytes(sealed)) is None


@given(st.binary(max_size=60))
def test_what_was_never_sealed(data):
    assert unseal(data) is None


def test_a_file_that_is_absent(tmp_path):
    with pytest.raises(ConfigurationError, match="could not be read"):
        read_lines(tmp_path / "none", lambda number, line: None)
