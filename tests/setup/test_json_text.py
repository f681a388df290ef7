"""Single members in and out of a JSON text, every other byte kept."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.agents import json_text

LAYOUTS = [
    '{"theme": "dark"}',
    '{\n    "theme": "dark",\n    "env": {"A": "ü, {x}"}\n}\n',
    '{\r\n\t"theme": "dark"\r\n}\r\n',
    "{}",
    "{ }\n",
    '{"enabledPlugins":{"other@place":true},"x":1}',
    '{\n  "enabledPlugins": {},\n  "x": [1, 2]\n}',
    ' {"a":{"b":{}} , "c":null }  ',
]


@pytest.mark.spec("R-155")
@pytest.mark.parametrize("text", LAYOUTS)
def test_a_member_goes_in_and_out_without_another_byte_changing(text: str) -> None:
    path = ("enabledPlugins", "mash@mash")
    longer = json_text.insert(text, path, True)
    wanted = json.loads(text)
    wanted.setdefault("enabledPlugins", {})["mash@mash"] = True
    assert json.loads(longer) == wanted
    shorter = json_text.remove(longer, path)
    if "enabledPlugins" not in json.loads(text):
        shorter = json_text.remove(shorter, ("enabledPlugins",))
    assert shorter == text


def test_a_new_member_is_indented_as_the_others_are() -> None:
    text = '{\n    "theme": "dark"\n}\n'
    longer = json_text.insert(text, ("tables", "mash"), {"a": 1})
    assert longer == (
        '{\n    "theme": "dark",\n    "tables": {\n        "mash": {\n            "a": 1\n'
        "        }\n    }\n}\n"
    )


def test_what_is_not_there_is_not_removed() -> None:
    for text in LAYOUTS:
        assert json_text.remove(text, ("absent", "deeper")) == text


def test_what_is_there_already_is_not_added_twice() -> None:
    with pytest.raises(ValueError, match="already there"):
        json_text.insert('{"a": 1}', ("a",), 2)


LISTS = [
    "{}",
    '{"permissions": {}}',
    '{"permissions": {"allow": []}}',
    '{"permissions": {"allow": [ ]}}',
    '{"permissions":{"allow":["Bash(ls:*)"],"deny":[]}}',
    '{\n  "permissions": {\n    "allow": [\n      "Read(a, b)",\n      "x]"\n    ]\n  }\n}\n',
    '{\r\n\t"permissions": {\r\n\t\t"allow": ["a", "b"]\r\n\t}\r\n}\r\n',
]


@pytest.mark.parametrize("text", LISTS)
def test_an_item_of_a_list_goes_in_and_out_without_another_byte_changing(text: str) -> None:
    path = ("permissions", "allow")
    before = json.loads(text).get("permissions", {})
    longer = json_text.append_item(text, path, "mcp__ü")
    assert json.loads(longer)["permissions"]["allow"] == [*before.get("allow", []), "mcp__ü"]
    shorter = json_text.remove_item(longer, path, "mcp__ü")
    if "allow" not in before:
        shorter = json_text.remove(shorter, path)
    if "permissions" not in json.loads(text):
        shorter = json_text.remove(shorter, ("permissions",))
    assert shorter == text
    assert json_text.remove_item(text, path, "mcp__ü") == text


def test_the_first_and_a_middle_item_go_out_too() -> None:
    text = '{"a": ["x", "y",\n  "z"]}'
    assert json_text.remove_item(text, ("a",), "x") == '{"a": ["y",\n  "z"]}'
    assert json_text.remove_item(text, ("a",), "y") == '{"a": ["x",\n  "z"]}'
    assert json_text.remove_item(text, ("b",), "y") == text


def test_what_is_no_list_takes_no_item() -> None:
    for text in ('{"a": 1}', '{"a": {"b": "x"}}', '{"a": null}'):
        with pytest.raises(ValueError, match="not a list"):
            json_text.append_item(text, ("a",), "x")


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=9) | st.integers(), max_size=5),
    st.sampled_from([None, 1, 4, "\t"]),
    st.text(max_size=6),
)
def test_any_object_survives_a_member_that_came_and_went(
    value: dict[str, object], indent: int | str | None, key: str
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if key in value:
        return
    longer = json_text.insert(text, (key,), {"deep": [1]})
    assert json.loads(longer) == {**value, key: {"deep": [1]}}
    assert json_text.remove(longer, (key,)) == text
