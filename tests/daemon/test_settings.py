"""What may be set, and what is said of a file that cannot be used."""

import pytest

from jupysched.core.errors import BadRequest
from jupysched.daemon.settings import Settings, read_settings


def test_what_a_file_sets_is_set_and_the_rest_keeps_its_default(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("cpu_slots = 3\ninterrupt_grace_s = 30.0\n", encoding="utf-8")
    assert Settings(cpu_slots=3, interrupt_grace_s=30.0) == read_settings(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cpu_slotz = 3", "cpu_slotz"),
        ("cpu_slots = 'three'", "cpu_slots"),
        ("cpu_slots = ", "settings.toml"),
        ("cpu_slots = 0", "settings.toml cannot be used: Expected `int` >= 1 - at `\\$.cpu_slots`"),
        ("notice_s = -1", r"Expected `float` >= 0(.0)? - at `\$.notice_s`"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(tmp_path, text, said):
    path = tmp_path / "settings.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadRequest, match=said):
        read_settings(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadRequest, match=r"nowhere\.toml"):
        read_settings(tmp_path / "nowhere.toml")
