"""What a problem is made of, as one value: command, page, their code and reports are derived from it."""
