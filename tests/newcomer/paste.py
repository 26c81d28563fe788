"""What a reader sees who pastes the blocks of a page: ``python paste.py PAGE.md``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "extensions"))

from cells import run

for output in run(Path(sys.argv[1])):
    print(output.text)
    for name in output.pictures:
        print("picture", name)
