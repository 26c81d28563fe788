"""The first module that is imported: in the command, Ctrl-C works before all other imports."""

import _signal  # type: ignore[import-not-found]  # `signal` itself takes long to import
import os
import sys

STATUS = 130
LINE = b"npkl: interrupted\n"


def is_the_command() -> bool:
    """Whether this process is ``npkl`` or ``python -m npkl_models``, not a program that uses the library."""
    begun = sys.argv[0] if getattr(sys, "argv", None) else ""
    if begun == "-m":  # the interpreter has not found the module to run yet
        return "npkl_models" in sys.orig_argv
    return os.path.splitext(os.path.basename(begun))[0] == "npkl"


def end_at_once() -> None:
    """Make Ctrl-C end the process at once; during the imports there is nothing to save."""
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _end)


def _end(number: int, frame: object) -> None:
    try:
        os.write(2, LINE)
    finally:
        os._exit(STATUS)


if is_the_command():
    end_at_once()
