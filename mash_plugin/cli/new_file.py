"""Where a file goes that was given no place."""

import os
import time

from mash_plugin.paths import work_tree_of


def new_file(pattern: str) -> str:
    """Into this folder under a name with the time; at home where git would take it in here."""
    name = time.strftime(pattern)
    here = os.path.abspath(name)
    return here if work_tree_of(here) is None else os.path.join(os.path.expanduser("~"), name)
