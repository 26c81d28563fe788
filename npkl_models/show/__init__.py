"""Problems and answers in words and pictures."""

from __future__ import annotations

from npkl_models.hooks import lend
from npkl_models.model.diagnosis import diagnose
from npkl_models.show.dual import explain_dual
from npkl_models.show.explain import explain
from npkl_models.show.handout import write_handout
from npkl_models.show.html import certificate_html, problem_html, solution_html
from npkl_models.show.plots.tables import plot_crosscheck
from npkl_models.show.report import write_report


def lend_methods() -> None:
    """Let what is here serve as methods of what it shows."""
    lend("Problem.explain", explain)
    lend("Problem.dual", explain_dual)
    lend("Problem.html", problem_html)
    lend("Problem.handout", write_handout)
    lend("Problem.diagnose", diagnose)
    lend("Certificate.html", certificate_html)
    lend("Solution.html", solution_html)
    lend("CrossCheck.plot", plot_crosscheck)
    lend("CrossCheck.report", write_report)
