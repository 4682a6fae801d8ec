"""Nothing in the house changes a setting of a card: no power limit, clock, MIG layout or reset."""

from pathlib import Path


def test_no_module_changes_a_setting_of_a_card() -> None:
    source = Path(__file__).parents[2] / "jupysched"
    words = ("nvmlDeviceSet", "nvmlDeviceReset", "nvmlDeviceCreate", "nvmlDeviceClear")
    assert [] == [p.name for p in source.rglob("*.py") if any(w in p.read_text(encoding="utf-8") for w in words)]
