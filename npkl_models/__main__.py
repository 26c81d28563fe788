"""``python -m npkl_models`` is the command ``npkl``."""

from npkl_models.cli.main import command

command()
