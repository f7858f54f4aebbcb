"""The memory that is left is the smaller of the machine's and the container's."""

from trisplit.matching import memory


def test_memory_is_left():
    assert 2**20 < memory.available_bytes() < 2**63


def test_a_container_may_have_less(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("5000")
    (tmp_path / "memory.current").write_text("3000")
    (tmp_path / "memory.stat").write_text("anon 2000\ninactive_file 1000\n")
    assert memory.available_bytes() == 3000
    (tmp_path / "memory.current").write_text("9000")
    assert memory.available_bytes() == 0
    (tmp_path / "memory.max").write_text("max")
    assert memory.available_bytes() > 2**20


def test_a_system_that_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "none")
    assert memory.available_bytes() > 2**20


def test_units():
    assert [memory.in_words(size) for size in (7, 2048, 3 * 2**20)] == ["7 bytes", "2.0 KiB", "3.0 MiB"]
