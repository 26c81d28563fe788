"""What is imported before everything else: in the command, Ctrl-C is answered from the first moment on."""

import npkl_models.interrupts as interrupts

if interrupts.is_the_command():
    interrupts.end_at_once()
