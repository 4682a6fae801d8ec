"""The doctor finds what can be mended, and nothing where nothing can."""

from pathlib import Path

import pytest

from jupysched import doctor
from jupysched.adapters.nvml_reader import PROBLEMS


def test_a_machine_without_a_gpu_needs_no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sentence = PROBLEMS["NVMLError_LibraryNotFound"]
    monkeypatch.setattr(doctor, "GPU_FILES", (str(tmp_path / "nvidia0"),))
    assert doctor._notice(sentence).ok
    (tmp_path / "nvidia0").touch()
    assert not doctor._notice(sentence).ok
    assert not doctor._notice("Something else.").ok
