"""Every piece of work that crashes are tried on, by name."""

from tests.crash import file_work
from tests.crash.throughline_work import Captures
from tests.crash.workloads import Joined, Records, Workload

KINDS: tuple[type[Workload], ...] = (
    *(Records, Joined, Captures, file_work.Opening, file_work.Backups, file_work.Restoring),
    *(file_work.Importing, file_work.ImportingRules, file_work.Exporting),
    *(file_work.Forgetting, file_work.Indexing, file_work.Migrating, file_work.Settings),
)
WORK = {kind.__name__.lower(): kind for kind in KINDS}
