"""Run by ``ordinal.py`` in another environment, with cblearn: embeddings of comparisons.

``python ordinal_peers.py IN.npz OUT.npz`` reads "n", "names" and the triplets "t0", "t1", ...; it writes an
embedding and the CPU seconds of each method for each of them, or NaN where a method fails.
"""

import sys
import time
import warnings

import numpy as np
from cblearn.embedding import CKL, GNMDS, SOE, STE, TSTE

METHODS = {"GNMDS": GNMDS, "SOE": SOE, "STE": STE, "t-STE": TSTE, "CKL": CKL}
DIMENSIONS = 3


def main() -> None:
    """Read, embed, write."""
    given = np.load(sys.argv[1])
    out = {}
    for at, n in enumerate(given["n"].tolist()):
        for name, method in METHODS.items():
            began = time.process_time()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = method(DIMENSIONS, random_state=at).fit_transform(given[f"t{at}"], n_objects=n)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                found = np.full((n, DIMENSIONS), np.nan)
            out[f"{at} {name}"] = found
            out[f"{at} {name} seconds"] = np.array(time.process_time() - began)
    np.savez(sys.argv[2], **out)


if __name__ == "__main__":
    main()
