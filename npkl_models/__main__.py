"""``python -m npkl_models`` is the command ``npkl``."""

import sys

from npkl_models.cli.main import main

sys.exit(main())
