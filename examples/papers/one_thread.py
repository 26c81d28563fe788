"""One thread for linear algebra, said before numpy is loaded: CPU seconds of threads that wait are nobody's work."""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
