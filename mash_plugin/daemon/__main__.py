"""`python -I -m mash_plugin.daemon`: become this home's one daemon, or leave quietly."""

import gc
import os
import sys

if __name__ == "__main__":
    # The imports leave no garbage: looking for it takes a tenth of a cold start. The first
    # answer turns it on again.
    gc.disable()
    from mash_plugin.daemon.start import main

    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)
