"""What a mutation run leaves out, each with its reason: changes of time, of words, or of nothing at all."""

SPEED, SEARCH, WORDS = "speed alone", "how long a search goes on before it is given up", "words"
WIDER = "a margin for rounding that is one unit wider: every claim stays true"
SECONDS = "a prediction of seconds"
SQUARE = {f"{name}.shape[0]" for name in "SACKGHUL"}

CONSTANTS = {
    "DENSE_EIGH": SPEED, "CHEAP_CHOLESKY": SPEED, "BLOCK": SPEED, "CHUNK": SPEED, "REORTHOGONALISED": SPEED,
    "KEPT": SPEED, "NEAREST": SPEED, "LOOK_EVERY": SPEED, "EXACT": SPEED, "FULL": SPEED, "LARGEST": SPEED,
    "MARGIN": SPEED, "DENSE_CHOLESKY": SPEED, "SPECTRUM": SPEED, "SPARSE_FILL": SPEED, "SPARSE_WORK": SPEED,
    "DENSE_IS_QUICKER": SPEED, "ACTIVE_SET": SPEED, "DENSE_ENTRIES": SPEED, "NUMBERS": SPEED, "WORK": SPEED,
    "CONSTRAINTS": SPEED, "ANCHORS": SPEED, "SEARCHED": SPEED, "ORDINARY": "a power of two is exact",
    "LANCZOS_STEPS": SEARCH, "CHEAP_STEPS": SEARCH, "ITERATIONS": SEARCH, "STEPS": SEARCH, "INNER": SEARCH,
    "ROUNDS": SEARCH, "ATTEMPTS": SEARCH, "PERRON_STEPS": SEARCH, "SWEEPS": SEARCH, "HALVINGS": SEARCH,
    "STALLED": SEARCH, "SMOOTHING": SEARCH, "EXTRA": SEARCH, "SHORTER": SEARCH, "REFINEMENTS": SEARCH,
    "LANCZOS": SEARCH, "EVALUATION": WIDER, "FORMING": WIDER, "SUM": WIDER, "BACKWARD": WIDER,
    "ROUNDING": WIDER, "NOISE": WIDER, "RATE": SECONDS, "USUAL": SECONDS, "ALWAYS": SECONDS, "LEAST": SECONDS,
    "(STEPS, INNER)": SEARCH, "(INVERSE, SHARES)": SEARCH, "(DAMPED, DENSE)": SEARCH,
    "(ORDER, EQUALITIES)": SPEED, "(ELIMINATED, MOST)": SPEED, "(FEW, MODEL)": SEARCH,
    "(STALLED, PATIENT)": SEARCH, "(SHORT, SLOW)": SEARCH, "(FEWER, LOOK_BACK)": SEARCH, "TURNING": SEARCH,
    "(COLUMNS, PRICES, ITERATIONS)": SEARCH,
}  # fmt: skip
"""Constants of a module, by name."""

FUNCTIONS = {
    "__repr__": WORDS, "__str__": WORDS, "describe": WORDS, "_repr_html_": WORDS,
    "iteration_seconds": SECONDS, "cost_of": SECONDS,
}  # fmt: skip
CALLS = {
    "logger.info": WORDS, "logger.debug": WORDS, "warnings.warn": WORDS, "dataclass": WORDS,
    "np.errstate": "warnings alone", "time.perf_counter": "seconds", "quiet_blas": SPEED,
}  # fmt: skip
KEYWORDS = {
    "check_finite": SPEED, "overwrite_a": SPEED, "overwrite_b": SPEED, "out": SPEED, "driver": SPEED,
    "dtype": "numpy infers the same type, or a wider one", "strict": "the lengths are equal by construction",
    "kind": "the order of equal numbers",
}  # fmt: skip
LINES: dict[tuple[str, str, str], str] = {}
"""(file, its line with single blanks, what takes the place or "*") of changes shown to be equivalent: why."""
