"""A sweep of slow tasks in processes: ``sweeping.py FOLDER COUNT`` prints the results as JSON."""

import json
import sys
import time
from functools import partial

from npkl_models.task_cache import sweep

SECONDS = 0.5


def slow(k: int) -> int:
    time.sleep(SECONDS)
    return k * k


if __name__ == "__main__":
    folder, count = sys.argv[1], int(sys.argv[2])
    print(json.dumps(sweep({str(k): partial(slow, k) for k in range(count)}, 2, folder)))
