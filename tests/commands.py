"""The command `npkl` in a test."""

from npkl_models.cli.main import main


def status(*arguments):
    """Of the command, whoever ends it: the parser, or what it runs."""
    try:
        return main(arguments)
    except SystemExit as left:
        return left.code
