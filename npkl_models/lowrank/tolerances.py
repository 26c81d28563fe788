"""Constants with one meaning for several low-rank solvers."""

HALVED = 20  # the largest number of times that the step of a row is halved
INNER_STEPS = 30  # the largest number of Newton steps for a row
SAME = 1e-12  # smaller relative differences of slopes count as rounding
ROUNDING = 1e-14  # a smaller relative change of the objective of a row counts as rounding
DENSE_SHARE = 0.2  # a cost with more than this share of stored entries counts as dense
SOFTER = 30.0  # beta is divided by it beside kinks at a new column: a stiff model is slow there
