"""Search and proof of a feasible kernel near a point: restoration, Newton steps, Kantorovich's theorem."""
