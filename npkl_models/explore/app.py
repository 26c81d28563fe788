"""The page's application: addresses, each handed to the desk."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from importlib.resources import files
from typing import Any

from npkl_models.errors import NPKLError, ProblemError, optional
from npkl_models.explore.answers import plain
from npkl_models.explore.desk import MOST_BYTES, Desk
from npkl_models.explore.gate import Gate
from npkl_models.explore.jobs import Job

POLL, BEAT = 0.05, 10.0  # seconds between looks for events, and between signs of life
STATIC = {
    "index.html": "text/html", "style.css": "text/css", "app.js": "text/javascript",
    "charts.js": "text/javascript", "dom.js": "text/javascript",
}  # fmt: skip


def make_app(token: str, hosts: tuple[str, ...], desk: Desk | None = None) -> Any:
    """The ASGI application of the page.

    Parameters
    ----------
    token : str
        That every request must carry.
    hosts : tuple of str
        Names that a request may give this machine, as "127.0.0.1:8000".
    desk : Desk, optional

    Raises
    ------
    MissingDependencyError
        Without starlette.
    """
    applications = optional("starlette.applications", "npkl explore", "explore")
    routing = optional("starlette.routing", "npkl explore", "explore")
    web = Web(desk or Desk(), token)
    get, post = ["GET"], ["POST"]
    routes = [
        routing.Route("/", web.static, methods=get),
        routing.Route("/static/{name}", web.static, methods=get),
        routing.Route("/api/choices", web.choices, methods=get),
        routing.Route("/api/stop", web.stop, methods=post),
        routing.Route("/api/upload", web.upload, methods=post),
        routing.Route("/api/jobs/{key}/events", web.events, methods=get),
        routing.Route("/api/jobs/{key}/figure/{name}", web.figure, methods=get),
        routing.Route("/api/{action}", web.act, methods=post),
    ]
    return Gate(applications.Starlette(routes=routes), token, hosts)


class Web:
    """The handlers: each reads a request, asks the desk in a thread, and words the answer."""

    def __init__(self, desk: Desk, token: str) -> None:
        self.desk, self.token = desk, token
        self._respond = optional("starlette.responses", "npkl explore", "explore")

    async def static(self, request: Any) -> Any:
        """The page itself, and its style and scripts, whose addresses are given the token."""
        name = request.path_params.get("name", "index.html")
        if name not in STATIC:
            return self._failed(ProblemError(f"there is no file {name}"), 404)
        text = files("npkl_models.explore").joinpath("static", name).read_text(encoding="utf-8")
        return self._respond.Response(text.replace("{{token}}", self.token), media_type=STATIC[name])

    async def choices(self, _: Any) -> Any:
        """All that can be chosen."""
        return await self._asked(self.desk.choices)

    async def stop(self, _: Any) -> Any:
        """Stop the job that runs."""
        return self._respond.JSONResponse({"stopping": self.desk.jobs.stop()})

    async def upload(self, request: Any) -> Any:
        """A file, as the body of the request."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                break
        query = request.query_params
        name, kind = query.get("name", ""), query.get("kind", "points")
        return await self._asked(partial(self.desk.upload, name, bytes(body), kind))

    async def act(self, request: Any) -> Any:
        """Describe the problem, or begin a job."""
        try:
            given = await request.json()
            form = dict(given["form"])
            actions: dict[str, Callable[[], Any]] = {
                "describe": lambda: self.desk.describe(form),
                "run": lambda: self.desk.run(form),
                "path": lambda: self.desk.follow(form, given["low"], given["high"], given["count"]),
                "compare": lambda: self.desk.compare(form, [str(name) for name in given["backends"]]),
            }
            action = actions[request.path_params["action"]]
        except (ValueError, KeyError, TypeError) as error:
            return self._failed(ProblemError(f"the request must be as the page makes it, got {error!r}"))
        return await self._asked(action)

    async def events(self, request: Any) -> Any:
        """The events of a job, as they come."""
        try:
            job = self.desk.jobs.get(request.path_params["key"])
        except NPKLError as error:
            return self._failed(error, 404)
        return self._respond.StreamingResponse(_stream(job), media_type="text/event-stream")

    async def figure(self, request: Any) -> Any:
        """A figure as SVG."""
        key, name, query = request.path_params["key"], request.path_params["name"], request.query_params
        try:
            index = int(query.get("index", 0))
            drawn = await asyncio.to_thread(self.desk.figure, key, name, index, dict(query))
        except (NPKLError, ValueError) as error:
            return self._failed(error)
        return self._respond.Response(drawn, media_type="image/svg+xml")

    async def _asked(self, action: Callable[[], Any]) -> Any:
        """What the desk says, errors of the library as they are."""
        try:
            return self._respond.JSONResponse(await asyncio.to_thread(action))
        except (NPKLError, OSError) as error:
            return self._failed(error)
        except (TypeError, ValueError) as error:  # what no check of ours has foreseen
            return self._failed(ProblemError(f"{type(error).__name__}: {error}"))

    def _failed(self, error: Exception, status: int = 400) -> Any:
        return self._respond.JSONResponse({"error": str(error)}, status_code=status)


async def _stream(job: Job) -> AsyncIterator[str]:
    """Server-sent events until the job has ended."""
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
