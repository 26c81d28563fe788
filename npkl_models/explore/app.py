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
from npkl_models.explore import requests
from npkl_models.explore.form import number_of
from npkl_models.explore.jobs import Job
from npkl_models.explore.session import JOBS, Session
from npkl_models.files.atomic import plain
from npkl_models.recipe.fields import short

logger = logging.getLogger("npkl_models")
POLL, BEAT = 0.05, 10.0  # seconds between two checks for events, and between two keep-alive messages
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
STATIC = {
    one.name: KINDS[one.name[one.name.rindex(".") :]]
    for one in files("npkl_models.explore").joinpath("static").iterdir() if "." in one.name
}  # fmt: skip
"""The files of the page, by name, with their types."""


async def aside(work: Callable[[], Any]) -> Any:
    """The result of a call in a thread; the server does not wait for the thread when it ends."""
    loop, found = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

    def settle(how: Callable[[Any], None], value: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(lambda: None if found.done() else how(value))

    def run() -> None:
        try:
            settle(found.set_result, work())
        except Exception as error:
            settle(found.set_exception, error)

    threading.Thread(target=run, daemon=True).start()
    return await found


def make_app(token: str, hosts: tuple[str, ...], session: Session | None = None) -> Any:
    """The ASGI application of the page.

    Every request must have the ``token``, and name this machine by one of ``hosts``, such as
    "127.0.0.1:8000". Without starlette, a `MissingDependencyError` is raised.
    """
    modules = ("starlette.applications", "starlette.routing")
    applications, routing = (optional(name, "npkl explore", "explore") for name in modules)
    web = Web(session or Session(), token)
    handlers = {
        "/": ("GET", web.static), "/static/{name}": ("GET", web.static),
        "/api/choices": ("GET", lambda request, _: web.session.choices()),
        "/api/state": ("GET", lambda request, _: web.session.state()),
        "/api/stop": ("POST", web.stop), "/api/upload": ("POST", web.upload),
        "/api/jobs/{key}": ("GET", lambda request, _: web.session.job(request.path_params["key"])),
        "/api/jobs/{key}/events": ("GET", web.events),
        "/api/jobs/{key}/figure/{name}": ("GET", web.figure), "/api/{action}": ("POST", web.act),
    }  # fmt: skip
    routes = [
        routing.Route(path, partial(web.answer, handler), methods=[method])
        for path, (method, handler) in handlers.items()
    ]
    return requests.TokenMiddleware(applications.Starlette(routes=routes), token, hosts)


class Web:
    """The handlers: each takes a request and its body, calls the session, and returns response or JSON."""

    def __init__(self, session: Session, token: str) -> None:
        self.session, self.token = session, token
        self._respond = optional("starlette.responses", "npkl explore", "explore")

    async def answer(self, handler: Callable[[Any, bytes], Any], request: Any) -> Any:
        """The response of a handler, which runs in a thread; errors of the library keep their message."""
        most = requests.MOST_FILE if handler == self.upload else requests.MOST_FORM
        try:
            body = await requests.body_of(request, most)
            found = await aside(partial(handler, request, body))
            return found if hasattr(found, "status_code") else self._respond.JSONResponse(found)
        except (NPKLError, OSError) as error:
            said: Exception = error
        except Exception as error:  # an error that no check has foreseen
            logger.exception("explore: a request broke down")
            said = ProblemError(f"the request must be one that can be answered, got {type(error).__name__}")
        words = self.session.uploads.words(said).encode(errors="replace").decode()
        statuses = ((requests.TooLarge, 413), (FileNotFoundError, 404), (Exception, 400))
        status = next(status for kind, status in statuses if isinstance(said, kind))
        return self._respond.JSONResponse({"error": words}, status_code=status)

    def static(self, request: Any, _: bytes) -> Any:
        """The page, its style or a script; the token is added to the addresses in the page."""
        name = request.path_params.get("name", "index.html")
        if name not in STATIC:
            raise FileNotFoundError(f"there is no file {name}")
        text = files("npkl_models.explore").joinpath("static", name).read_text(encoding="utf-8")
        return self._respond.Response(text.replace("{{token}}", self.token), media_type=STATIC[name])

    def stop(self, request: Any, _: bytes) -> Any:
        """Stop the running job; if a job is named, only that job."""
        return {"stopping": self.session.jobs.stop(request.query_params.get("key"))}

    def upload(self, request: Any, body: bytes) -> Any:
        query = dict(request.query_params)
        columns = {name: query[name] for name in ("labels", "ids") if name in query}
        return self.session.uploads.keep(query.get("name", ""), body, query.get("kind", "points"), **columns)

    def act(self, request: Any, body: bytes) -> Any:
        name = request.path_params["action"]
        if name not in ("describe", *JOBS):
            raise ProblemError(f"the request must be one of describe, {', '.join(JOBS)}, got {short(name)}")
        given, form = requests.form_of(body)
        return self.session.describe(form) if name == "describe" else self.session.start(name, form, given)

    def events(self, request: Any, _: bytes) -> Any:
        try:
            job = self.session.jobs.get(request.path_params["key"])
        except NPKLError as error:
            raise FileNotFoundError(str(error)) from error
        return self._respond.StreamingResponse(_stream(job), media_type="text/event-stream")

    def figure(self, request: Any, _: bytes) -> Any:
        key, name, query = request.path_params["key"], request.path_params["name"], request.query_params
        index = number_of("index", query.get("index", 0), whole=True)
        drawn = self.session.figure(key, name, index, dict(query))
        return self._respond.Response(drawn, media_type="image/svg+xml")


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
