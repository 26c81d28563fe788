"""Yeung, Chang & Dai, A Scalable Kernel-Based Semi-Supervised Metric Learning Algorithm, Neural Computation 2008."""

from __future__ import annotations

from items import absent

SOURCE = "Yeung, Chang & Dai 2008"
WHY = "the metric that it learns from landmarks is not in the library yet"
TITLES = {
    "figure1": "Figure 1: CPU time of the two methods", "figure2": "Figure 2: XOR, seen through each metric",
    "table1": "Table 1: J on XOR", "figure3": "Figure 3: J against constraints, MNIST",
    "figure4": "Figure 4: J and Rand index on six sets", "table2": "Table 2: J on Isolet and MNIST",
    "table3": "Table 3: Rand index on Isolet and MNIST", "table4": "Table 4: classification on Isolet and MNIST",
}  # fmt: skip
ITEMS = tuple(absent(f"kml.{name}", title, WHY) for name, title in TITLES.items())
