"""Every fuzz target by its name."""

from tests.fuzz import (
    agents_targets,
    cursor_targets,
    files_targets,
    group_targets,
    index_targets,
    pages_targets,
    places_targets,
    sessions_targets,
    talk_targets,
    words_targets,
)
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    **agents_targets.TARGETS,
    **talk_targets.TARGETS,
    **cursor_targets.TARGETS,
    **group_targets.TARGETS,
    **index_targets.TARGETS,
    **words_targets.TARGETS,
    **places_targets.TARGETS,
    **files_targets.TARGETS,
    **sessions_targets.TARGETS,
    **pages_targets.TARGETS,
}
