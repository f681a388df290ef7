"""`python -m mash_plugin`: the same as `mash`."""

from mash_plugin.cli.main import main

if __name__ == "__main__":
    main()
