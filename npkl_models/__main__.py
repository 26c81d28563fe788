"""``python -m npkl_models`` is the command ``npkl``."""

import sys

from npkl_models.cli import main

sys.exit(main())
