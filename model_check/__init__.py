"""What can go wrong: explores the reference, judges it against the properties, shows what it found."""

import time

#: When this process began to import kraftcheck, in seconds of the epoch.
BEGAN = time.time()
