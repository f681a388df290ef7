"""A process that saves one number after the other and says so after each: for killing."""

import sys

from mash_plugin.paths import find_paths
from mash_plugin.store.open import open_store
from tests.store.saving import NOW, save, saved

store = open_store(find_paths({"MASH_HOME": sys.argv[1]}), NOW)
number = max(saved(store), default=-1) + 1
while True:
    save(store, number, size=number % 7 * 900)
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()
    if number % 5 == 4:
        store.checkpoint("TRUNCATE" if number % 10 == 9 else "PASSIVE")
    number += 1
