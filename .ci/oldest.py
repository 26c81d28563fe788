"""Prints the oldest versions that pyproject.toml allows, as a file of constraints for pip."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
wanted = [
    *project["dependencies"],
    *(one for name in sys.argv[1:] for one in project["optional-dependencies"][name]),
]
for line in wanted:
    found = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", line)
    if found is None:
        raise SystemExit(f"a dependency must name its oldest version as name>=version, got {line!r}")
    print(f"{found[1]}=={found[2]}")
