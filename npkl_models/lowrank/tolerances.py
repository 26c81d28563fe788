"""Constants with one meaning for several low-rank solvers."""

PATIENCE, SLOW = 100, 0.1  # first-order steps; if they gain less than this factor, Newton steps take over
INEXACT = 0.3  # a smooth problem is solved to this share of the residual before its multipliers move
HALVED = 20  # the largest number of times that the step of a row is halved
INNER_STEPS = 30  # the largest number of Newton steps for a row
ROUNDING = 1e-14  # a smaller relative change of the objective of a row counts as rounding
DENSE_SHARE = 0.2  # a cost with more than this share of stored entries counts as dense
SOFTER = 30.0  # beta is divided by it beside kinks at a new column: a stiff model is slow there
