"""What is asked: pairs, graph, losses, regularisers, the statement."""
