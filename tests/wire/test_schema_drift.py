"""The page's types are those of the wire."""

from jupysched.wire import typescript


def test_schema_ts_is_what_the_wire_says() -> None:
    assert typescript.main(["--check"]) == 0, "run `make schema` and commit labextension/src/api/schema.ts"
