"""The data of a problem: pairs, graphs, functionals, losses, regularisers, and the statement."""
