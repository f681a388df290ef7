"""What lies in the folders of transcripts; one that is missing or closed to us holds nothing."""

import os


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    """Everything in a folder, by name."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def folders_in(folder: str) -> list[str]:
    """The paths of the folders in it, by name; links to folders are none."""
    return [entry.path for entry in entries_of(folder) if entry.is_dir(follow_symlinks=False)]
