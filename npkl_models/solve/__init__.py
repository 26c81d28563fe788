"""How a solver is run: registry, options, program, watch, judge, cost and choice."""
