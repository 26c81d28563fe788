"""What is imported before everything else: in the command, Ctrl-C is answered from the first moment on."""

import _signal  # type: ignore[import-not-found]  # `signal` itself takes long to import
import os
import sys

STATUS = 130
LINE = b"npkl: interrupted\n"


def is_the_command() -> bool:
    """Whether this process is ``npkl`` or ``python -m npkl_models``, not a program that uses the library."""
    begun = sys.argv[0] if getattr(sys, "argv", None) else ""
    if begun == "-m":  # the interpreter is looking for the module that it was told to run
        return "npkl_models" in sys.orig_argv
    return os.path.splitext(os.path.basename(begun))[0] == "npkl"


def end_at_once() -> None:
    """From now on Ctrl-C ends the process: while modules are imported there is nothing to be saved."""
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _end)


def _end(number: int, frame: object) -> None:
    try:
        os.write(2, LINE)
    finally:
        os._exit(STATUS)


if is_the_command():
    end_at_once()
