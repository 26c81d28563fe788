"""A feasible kernel near a point: equality map, restoration, Newton, analytic centre, Kantorovich."""
