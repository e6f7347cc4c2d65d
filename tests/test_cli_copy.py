"""``fastrag copy``: what it says, its exit codes, and how it goes on after it was killed."""

import asyncio
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from fastrag.cli import main
from fastrag.document import Document
from fastrag.store import LanceStore

SECRET = "s3cr3t-k3y"
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


def fill(folder, count, **options):
    async def write():
        store = LanceStore(folder, **options)
        documents = [Document(f"d{n}", f"cat number {n}", f"u{n}", {"n": n}) for n in range(count)]
        await store.bind("embedder", 8)
        await store.upsert(documents, np.random.default_rng(0).standard_normal((count, 8)).astype(np.float32))
        await store.close()

    asyncio.run(write())


def count(folder, **options):
    return asyncio.run(LanceStore(folder, **options).count())


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    fill(folder, 60)
    return str(folder)


def test_a_copy_that_is_repeated(source, tmp_path, capsys):
    target = f"lance://{tmp_path}/target?namespace=handbook"
    assert main(["copy", source, target, "--batch-size", "25", "--sample", "10"]) == 0
    out, err = capsys.readouterr()
    assert "copy: 60/60 documents, 60 written" in err
    assert f"lance://{tmp_path}/target" in out
    assert "verified by counts and by 10 documents that are equal in both" in out
    assert count(tmp_path / "target", namespace="handbook") == 60
    assert main(["copy", source, target]) == 0
    out, err = capsys.readouterr()
    assert "copy: 60/60 documents, 0 written" in err
    assert [line.split() for line in out.splitlines() if "there already" in line] == [["there", "already", "60"]]


def test_what_only_the_target_has(source, tmp_path, capsys):
    asyncio.run(LanceStore(tmp_path / "target").upsert([Document(f"more {n}", "") for n in range(12)]))
    target = str(tmp_path / "target")
    assert main(["copy", source, target]) == 0
    out = capsys.readouterr().out
    assert "in the target only: more 0, more 1" in out
    assert ", ... (--prune removes them)" in out
    assert main(["copy", source, target, "--prune"]) == 0
    assert count(target) == 60


def test_a_copy_that_is_not_as_it_should_be_is_3(source, tmp_path, monkeypatch, capsys):
    upsert = LanceStore.upsert

    async def forgetful(self, documents, embeddings=None):
        await upsert(self, documents[1:], None if embeddings is None else embeddings[1:])

    monkeypatch.setattr(LanceStore, "upsert", forgetful)
    assert main(["copy", source, str(tmp_path / "target")]) == 3
    out = capsys.readouterr().out
    assert "not verified: 1 of the 60 Documents that were compared are not in the target" in out
    assert "verified by counts" not in out


def test_another_embedder_is_1(source, tmp_path, capsys):
    asyncio.run(LanceStore(tmp_path / "target").bind("another", 8))
    assert main(["copy", source, str(tmp_path / "target")]) == 1
    assert "'another'" in capsys.readouterr().err
    assert count(tmp_path / "target") == 0


def test_nothing_to_copy_is_1(source, tmp_path, capsys):
    assert main(["copy", f"lance:{source}?namespace=faq", str(tmp_path / "target")]) == 1
    assert "nothing is there to copy from the namespace 'faq'; namespaces with something in them: default" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "target").exists()


def test_a_server_that_is_away_is_1_and_its_password_is_not_shown(source, capsys):
    for url in (f"qdrant://:{SECRET}@127.0.0.1:9", f"postgresql://ann:{SECRET}@127.0.0.1:9/db"):
        for arguments in ([source, url], [url, source]):
            assert main(["copy", *arguments]) == 1
            out, err = capsys.readouterr()
            assert "127.0.0.1" in err
            assert SECRET not in out + err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["only-one"], "TARGET_URL"),
        (["a", f"redis://:{SECRET}@host"], "begins with none of"),
        ([f"qdrant://:{SECRET}@host:x", "a"], "malformed"),
        (["a", "a"], "same store"),
        (["a", "memory:"], "ends with the command"),
        (["MEMORY:?namespace=x", "a"], "ends with the command"),
        (["lance:a?namespace=x", "lance:a?namespace=x"], "same store"),
        (["a", "b", "--namespace", "A"], "namespace"),
        (["a", "b", "--language", "klingon"], "language"),
        (["a", "b", "--batch-size", "0"], "at least 1"),
        (["a", "b", "--sample", "-1"], "at least 1"),
    ],
)
def test_wrong_usage_is_2(arguments, said, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["copy", *arguments])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert said in error
    assert SECRET not in error


def test_help_names_the_exit_codes_and_the_urls(capsys):
    with pytest.raises(SystemExit):
        main(["copy", "--help"])
    out = capsys.readouterr().out
    for said in (
        "exit codes:",
        "  3  copied, but",
        "qdrant://host:6333",
        "QDRANT_API_KEY",
        "examples:\n  fastrag copy",
    ):
        assert said in out


def start(source, target):
    command = [sys.executable, "-m", "fastrag", "copy", source, target, "--batch-size", "20"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stop_after_the_next_batches(process, target, number):
    """Send the signal once more than before is in the target."""
    before = count(target)
    while process.poll() is None and count(target) <= before + 40:
        pass
    process.send_signal(number)
    process.communicate(timeout=120)
    return count(target)


@posix
def test_a_copy_that_is_killed_again_and_again_goes_on_where_it_stopped(tmp_path, capsys):
    source, target = str(tmp_path / "source"), str(tmp_path / "target")
    fill(source, 3000)
    there = [0]
    for _ in range(4):
        process = start(source, target)
        there.append(stop_after_the_next_batches(process, target, signal.SIGKILL))
        assert process.returncode == -signal.SIGKILL, "it was still at work"
        assert there[-1] % 20 == 0, "no part of a batch"
    assert sorted(set(there)) == there, "every one of them has brought more"
    assert main(["copy", source, target, "--sample", "3000"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[-1] for line in out.splitlines() if "there already" in line] == [str(there[-1])]
    assert "verified by counts and by 3000 documents" in out


@posix
def test_ctrl_c_says_how_to_go_on(tmp_path):
    source, target = str(tmp_path / "source"), str(tmp_path / "target")
    fill(source, 3000)
    process = start(source, target)
    while process.poll() is None and count(target) <= 40:
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert err == "fastrag: interrupted; run the same command again to go on\n"
    assert out == ""
