"""A group and its members on the server, as the administrator makes them."""

from contextlib import closing

from tests.support.groups import published


def test_a_member_learns_who_it_is_and_which_group_it_reads(group):
    with closing(group.open("anna")) as anna:
        assert (anna.member, anna.group) == ("anna", group.name)
        assert len(anna.group_id) == 32
        assert anna.one("SELECT count(*) FROM pub_records", {}) == (0,)


def test_what_a_member_publishes_is_counted_and_read_by_others_under_its_name(group):
    with closing(group.open("anna")) as anna:
        published(anna, "n1", "r1")
    assert group.run("SELECT node_id, records FROM nodes") == [("n1", 1)]
    with closing(group.open("bob", to_write=False)) as bob:
        assert bob.one(
            "SELECT m.member FROM pub_records JOIN nodes USING (node_id)"
            " JOIN members AS m USING (role_name)",
            {},
        ) == ("anna",)
