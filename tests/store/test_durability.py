import os

from fastrag.store.durability import FileSyncer


def test_each_file_is_synced_once_and_its_folder_with_it(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))

    def inodes(*names):
        return sorted((tmp_path / name).stat().st_ino for name in names)

    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "sub" / "b").write_bytes(b"b")
    syncer = FileSyncer(tmp_path)
    syncer.sync()
    assert sorted(synced) == inodes("", "a", "sub", "sub/b")

    synced.clear()
    syncer.sync()
    assert synced == []

    (tmp_path / "sub" / "c").write_bytes(b"c")
    (tmp_path / "a").unlink()
    syncer.sync()
    assert sorted(synced) == inodes("sub", "sub/c")

    synced.clear()
    (tmp_path / "new").write_bytes(b"another")
    (tmp_path / "new").replace(tmp_path / "sub" / "c")
    syncer.sync()
    assert sorted(synced) == inodes("sub", "sub/c")

    synced.clear()
    (tmp_path / "sub" / "new").mkdir()
    syncer.sync()
    assert synced == inodes("sub")


def test_a_file_that_goes_away_meanwhile_is_no_failure(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"a")
    opened = os.open

    def gone(path, flags):
        if str(path).endswith("a"):
            (tmp_path / "a").unlink()
        return opened(path, flags)

    monkeypatch.setattr(os, "open", gone)
    FileSyncer(tmp_path).sync()
