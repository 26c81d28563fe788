"""Constants with one meaning for several low-rank solvers."""

PATIENCE, SLOW = 100, 0.1  # first-order steps; if they gain less than this factor, Newton steps take over
INEXACT = 0.3  # a smooth problem is solved to this share of the residual before its multipliers move
HALVED = 20  # how often the step of a row may be halved
ROUNDING = 1e-14  # a change of the objective of a row, relative to it, that is rounding
DENSE_SHARE = 0.2  # of all entries: a cost with more of them fills factors, and may have a low rank
