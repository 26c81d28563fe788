"""Certificates: proved bounds on the optimum, and the repairs and proofs behind them."""
