"""Constants with one meaning for several low-rank solvers."""

ROUNDING = 1e-14  # a smaller relative change of an objective, a shift or a residual counts as rounding
SAME = 1e-12  # smaller relative differences of vectors and matrices count as none, as sums of many terms
STEPS = 60  # the largest number of Newton steps for a row, and of steps to the root of its secular equation
HALVED = 20  # the largest number of times that a step is halved, and of steps of a line search
ENOUGH = 1e-4  # the share of the fall along the tangent that a step must reach (Armijo)
FORCING = 0.1  # the share of the first residual that conjugate gradients and line searches may leave
STEEP = 5.0  # weights above this multiple of the mean diagonal of the cost are large beside the cost
