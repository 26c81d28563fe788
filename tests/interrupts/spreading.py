"""A command whose tasks wait in two processes, each with an array that joblib keeps in a file: ``spreading.py FOLDER``.

Each task writes a file, named by its process and by whether Ctrl-C is blocked there, when it begins.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import npkl_models.interrupts as interrupts
from npkl_models.workers import spread

FOREVER = 600.0


def wait(folder: str, array: np.ndarray) -> float:
    """Write down who waits, and wait."""
    deaf = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    (Path(folder) / f"{os.getpid()}-{'deaf' if deaf else 'hears'}").touch()
    time.sleep(FOREVER)
    return float(array[0])


if __name__ == "__main__":
    sys.argv[0] = "npkl"  # as the workers of the command see it
    interrupts.begin()
    try:
        list(spread(wait, [(sys.argv[1], np.full(500_000, float(k))) for k in range(2)], 2))
    except KeyboardInterrupt:
        interrupts.answered()
        interrupts.leave_at_once()
