"""The web application of the page: each address calls the session."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from importlib.resources import files
from typing import Any

from npkl_models.errors import NPKLError, ProblemError, optional
from npkl_models.explore.form import number_of
from npkl_models.explore.jobs import Job
from npkl_models.explore.plain import plain
from npkl_models.explore.requests import (
    MOST_FILE,
    MOST_FORM,
    TokenMiddleware,
    TooLarge,
    body_of,
    field_of,
    form_of,
    names_of,
)
from npkl_models.explore.session import Session
from npkl_models.recipe.fields import LONGEST, short

logger = logging.getLogger("npkl_models")
POLL, BEAT = 0.05, 10.0  # seconds between two checks for events, and between two keep-alive messages
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
STATIC = {
    one.name: KINDS[one.name[one.name.rindex(".") :]]
    for one in files("npkl_models.explore").joinpath("static").iterdir() if "." in one.name
}  # fmt: skip
"""The files of the page, by name, with their types."""


def _owner(given: Any) -> str:
    found = given.get("owner", "")
    return found[:LONGEST] if isinstance(found, str) else ""


ACTIONS: dict[str, Callable[[Session, Any, Any], Any]] = {
    "describe": lambda session, form, _: session.describe(form),
    "run": lambda session, form, given: session.run(form, _owner(given)),
    "path": lambda session, form, given: session.follow(
        form, field_of(given, "low"), field_of(given, "high"), field_of(given, "count"), _owner(given)
    ),
    "compare": lambda session, form, given: session.compare(form, names_of(given, "backends"), _owner(given)),
    "step": lambda session, form, given: session.step(form, _owner(given)),
    "race": lambda session, form, given: session.race(form, names_of(given, "backends"), _owner(given)),
}


async def aside(work: Callable[[], Any]) -> Any:
    """The result of a call in a thread; the server does not wait for the thread when it ends."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    found: list[Any] = []

    def run() -> None:
        try:
            found.extend((work(), None))
        except Exception as error:
            found.extend((None, error))
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, daemon=True).start()
    await done.wait()
    result, error = found
    if error is not None:
        raise error
    return result


def make_app(token: str, hosts: tuple[str, ...], session: Session | None = None) -> Any:
    """The ASGI application of the page.

    Every request must have the ``token``, and name this machine by one of ``hosts``, such as
    "127.0.0.1:8000". Without starlette, a `MissingDependencyError` is raised.
    """
    applications = optional("starlette.applications", "npkl explore", "explore")
    routing = optional("starlette.routing", "npkl explore", "explore")
    web = Web(session or Session(), token)
    get, post = ["GET"], ["POST"]
    routes = [
        routing.Route("/", web.static, methods=get),
        routing.Route("/static/{name}", web.static, methods=get),
        routing.Route("/api/choices", web.choices, methods=get),
        routing.Route("/api/state", web.state, methods=get),
        routing.Route("/api/stop", web.stop, methods=post),
        routing.Route("/api/upload", web.upload, methods=post),
        routing.Route("/api/jobs/{key}", web.job, methods=get),
        routing.Route("/api/jobs/{key}/events", web.events, methods=get),
        routing.Route("/api/jobs/{key}/figure/{name}", web.figure, methods=get),
        routing.Route("/api/{action}", web.act, methods=post),
    ]
    return TokenMiddleware(applications.Starlette(routes=routes), token, hosts)


class Web:
    """The handlers: each reads a request, calls the session in a thread, and writes the response."""

    def __init__(self, session: Session, token: str) -> None:
        self.session, self.token = session, token
        self._respond = optional("starlette.responses", "npkl explore", "explore")

    async def static(self, request: Any) -> Any:
        """The page, its style or a script; the token is added to the addresses in the page."""
        name = request.path_params.get("name", "index.html")
        if name not in STATIC:
            return self._failed(ProblemError(f"there is no file {name}"), 404)
        text = files("npkl_models.explore").joinpath("static", name).read_text(encoding="utf-8")
        return self._respond.Response(text.replace("{{token}}", self.token), media_type=STATIC[name])

    async def choices(self, _: Any) -> Any:
        """All choices of the page."""
        return await self._asked(self.session.choices)

    async def state(self, _: Any) -> Any:
        """The running job; a response also shows that the server runs."""
        return self._respond.JSONResponse(self.session.state())

    async def job(self, request: Any) -> Any:
        """The kind and the form of a job."""
        return await self._asked(partial(self.session.job, request.path_params["key"]))

    async def stop(self, request: Any) -> Any:
        """Stop the running job; if a job is named, only that job."""
        return self._respond.JSONResponse(
            {"stopping": self.session.jobs.stop(request.query_params.get("key"))}
        )

    async def upload(self, request: Any) -> Any:
        """Upload a file, which is the body of the request."""
        try:
            body = await body_of(request, MOST_FILE)
        except TooLarge as error:
            return self._failed(error, 413)
        query = request.query_params
        name, kind = query.get("name", ""), query.get("kind", "points")
        return await self._asked(partial(self.session.upload, name, body, kind))

    async def act(self, request: Any) -> Any:
        """Describe the problem, or start a job."""
        name = request.path_params["action"]
        try:
            body = await body_of(request, MOST_FORM)
        except TooLarge as error:
            return self._failed(error, 413)
        if name not in ACTIONS:
            return self._failed(
                ProblemError(f"the request must be one of {', '.join(ACTIONS)}, got {short(name)}")
            )

        def work() -> Any:
            given, form = form_of(body)
            return ACTIONS[name](self.session, form, given)

        return await self._asked(work)

    async def events(self, request: Any) -> Any:
        """The events of a job, as they come."""
        try:
            job = self.session.jobs.get(request.path_params["key"])
        except NPKLError as error:
            return self._failed(error, 404)
        return self._respond.StreamingResponse(_stream(job), media_type="text/event-stream")

    async def figure(self, request: Any) -> Any:
        """A figure as SVG."""
        key, name, query = request.path_params["key"], request.path_params["name"], request.query_params
        try:
            index = number_of("index", query.get("index", 0), whole=True)
            drawn = await aside(partial(self.session.figure, key, name, index, dict(query)))
        except NPKLError as error:
            return self._failed(error)
        except Exception as error:  # an unforeseen error of a drawing
            return self._unforeseen(error)
        return self._respond.Response(drawn, media_type="image/svg+xml")

    async def _asked(self, action: Callable[[], Any]) -> Any:
        """The response of the session; errors of the library keep their message."""
        try:
            return self._respond.JSONResponse(await aside(action))
        except (NPKLError, OSError) as error:
            return self._failed(error)
        except Exception as error:  # an error that no check has foreseen
            return self._unforeseen(error)

    def _unforeseen(self, error: Exception) -> Any:
        logger.exception("explore: a request broke down")
        return self._failed(
            ProblemError(f"the request must be one that can be answered, got {type(error).__name__}")
        )

    def _failed(self, error: Exception, status: int = 400) -> Any:
        words = self.session.words(error).encode(errors="replace").decode()
        return self._respond.JSONResponse({"error": words}, status_code=status)


async def _stream(job: Job) -> AsyncIterator[str]:
    """The server-sent events of a job until the job has ended."""
    count, silent = 0, 0.0
    while True:
        ended = job.ended.is_set()
        fresh = job.since(count)
        for event in fresh:
            yield f"data: {json.dumps(plain(event))}\n\n"
        count += len(fresh)
        if ended and not job.since(count):
            return
        silent = 0.0 if fresh else silent + POLL
        if silent >= BEAT:
            silent = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(POLL)
