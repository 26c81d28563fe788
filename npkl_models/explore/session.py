"""The functions behind the page, independent of the web: they take and return dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from npkl_models._version import __version__
from npkl_models.errors import NPKLError, ProblemError
from npkl_models.explore import answers, codes, failures, optimality
from npkl_models.explore.answers import Answer
from npkl_models.explore.form import Form, controls, formulations, number_of
from npkl_models.explore.jobs import Job, Jobs
from npkl_models.explore.tasks import Tasks
from npkl_models.explore.uploads import Uploads
from npkl_models.recipe.made import Made
from npkl_models.routes import backends as known_backends
from npkl_models.solve.choice import choose_backend

GRACE = 2.0  # seconds in which a job may end when the page is closed
MOST_VALUES = 60  # the largest number of values of a path


class Session:
    """The session of a server: uploads, the last problem, and jobs.

    ``owner`` is the name of a browser tab; it is no secret.
    """

    def __init__(self) -> None:
        self.jobs, self.uploads = Jobs(), Uploads()
        self.opening: str | None = None
        self._last: tuple[Any, Made] | None = None

    def close(self) -> None:
        """Stop the running job, wait for its end a little, and delete the uploads."""
        running = self.jobs.running
        self.jobs.stop()
        if running is not None:
            running.ended.wait(GRACE)  # a process that ends in compiled code aborts
        self.uploads.close()

    def begin(self, given: Mapping[str, Any] | None = None) -> None:
        """Begin the run that a page shows first if it has no state; any other job stops this run."""
        form = Form.of(given or {}, {})
        tasks = Tasks(form, self._made)
        self.opening = self.jobs.begin("run", tasks.run, form=dict(given or {}), yielding=True).key

    def choices(self) -> dict[str, Any]:
        """All choices of the page, and the first form."""
        return {
            "version": __version__, "fields": controls(), "formulations": formulations(),
            "backends": {name: backend.summary for name, backend in known_backends().items()},
            "printed": {name: backend.summary for name, backend in known_backends("printed").items()},
            "figures": {name: words for name, (words, _) in answers.FIGURES.items()},
            "failures": failures.told(), "opening": self.opening, **self.state(),
        }  # fmt: skip

    def state(self) -> dict[str, Any]:
        """The running job, and the tab that has started the job."""
        running = self.jobs.running
        if running is None or running.yielding:
            return {"running": None, "key": None, "owner": None}
        return {"running": running.kind, "key": running.key, "owner": running.owner}

    def job(self, key: str) -> dict[str, Any]:
        """The kind, the form and the end of a job, for a page that is loaded again."""
        found = self.jobs.get(key)
        return {"kind": found.kind, "form": found.form, "ended": found.ended.is_set()}

    def upload(self, name: str, content: bytes, kind: str = "points") -> dict[str, Any]:
        """Keep an uploaded file; see `Uploads.keep`."""
        return self.uploads.keep(name, content, kind)

    def describe(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The problem in words and code, the backends that support it, and the choice of "auto"."""
        form = Form.of(given, self.uploads.files)
        made = self._made(form)
        explained = made.problem.explain()
        declined = {name: reason for name, reason in made.problem.compatible_backends().items() if reason}
        try:
            auto = choose_backend(made.problem)[0]
        except NPKLError as error:
            auto = str(error)
        return {
            "title": made.title, "text": explained.text, "latex": explained.latex, "n": made.problem.n,
            "formulas": optimality.formulas(made.problem), "declined": declined, "auto": auto,
            "code": codes.solve_code(made, form), "command": f"{form.command()}\n",
            "weighted": bool(made.problem.losses), "findings": [
                *([made.scales] if made.scales else []), *map(str, made.problem.diagnose())
            ],
        }  # fmt: skip

    def run(self, given: Mapping[str, Any], owner: str = "") -> dict[str, Any]:
        """Begin to solve."""
        return self._begin("run", self._tasks(given).run, given, owner)

    def follow(
        self, given: Mapping[str, Any], low: Any, high: Any, count: Any, owner: str = ""
    ) -> dict[str, Any]:
        """Begin to solve for ``count`` values of gamma from ``low`` to ``high``, with a constant ratio."""
        tasks = self._tasks(given)
        low, high = number_of("the first gamma", low), number_of("the last gamma", high)
        count = number_of("the number of values", count, whole=True)
        if not (0 < low < high and 2 <= count <= MOST_VALUES):
            raise ProblemError(
                f"a path must go from a positive gamma to a larger one in 2 to {MOST_VALUES} values, "
                f"got {low:g} to {high:g} in {count}"
            )
        return self._begin("path", lambda job: tasks.follow(job, (low, high, count)), given, owner)

    def compare(self, given: Mapping[str, Any], backends: Sequence[str], owner: str = "") -> dict[str, Any]:
        """Begin a cross-check."""
        tasks = self._tasks(given)
        return self._begin("comparison", lambda job: tasks.compare(job, backends), given, owner)

    def step(self, given: Mapping[str, Any], owner: str = "") -> dict[str, Any]:
        """Begin to solve, and certify the iterates afterwards."""
        return self._begin("step-through", self._tasks(given).step, given, owner)

    def race(self, given: Mapping[str, Any], backends: Sequence[str], owner: str = "") -> dict[str, Any]:
        """Begin to solve with two backends, one after the other."""
        tasks = self._tasks(given)
        return self._begin("race", lambda job: tasks.race(job, backends), given, owner)

    def figure(self, key: str, name: str, index: int, how: Mapping[str, Any]) -> str:
        """A figure of a run, of one answer of a path, or of a comparison."""
        found = self.jobs.get(key).answer
        if isinstance(found, list) and 0 <= index < len(found):
            found = found[index]
        if not isinstance(found, Answer):
            raise ProblemError("there is no answer to draw yet")
        width = number_of("width", how.get("width", 480), whole=True)
        return found.figure(name, how.get("by", "classes"), width, how.get("dark") == "1")

    def words(self, error: Exception) -> str:
        """The message of an error, with the names of uploaded files instead of their paths."""
        return self.uploads.words(error)

    def _tasks(self, given: Mapping[str, Any]) -> Tasks:
        return Tasks(Form.of(given, self.uploads.files), self._made)

    def _begin(self, kind: str, work: Any, given: Mapping[str, Any], owner: str) -> dict[str, Any]:
        job: Job = self.jobs.begin(kind, work, owner=owner, form=dict(given))
        return {"key": job.key}

    def _made(self, form: Form) -> Made:
        """The problem of a form; the last problem is kept."""
        asked = form.problem_alone
        last = self._last  # any thread may have set it
        if last is None or last[0] != asked:
            try:
                last = asked, form.made()
            except ProblemError as error:
                raise ProblemError(self.words(error)) from error
            self._last = last
        return last[1]
