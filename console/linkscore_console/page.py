"""How a view becomes a page: the source it asks, the template it fills, the way back after a form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from linkscore_console import words
from linkscore_console.security import MAX_FORM_BYTES, FormToken
from linkscore_console.source import Source

VIEWS = (
    ("map", "Site map"),
    ("harvest", "Harvest"),
    ("teach", "Teach"),
)
"""Views of a site: last part of the address, and name."""


@dataclass(slots=True)
class Console:
    """What all views share."""

    source: Source  # what answers
    writable: bool  # whether forms that change something are shown and taken
    forms: FormToken  # the token of forms
    templates: Environment  # jinja templates; everything is escaped

    def render(self, request: Request, template: str, /, *, status: int = 200, **context: Any) -> Response:
        """Return a page."""
        text = self.templates.get_template(template).render(
            console=self,
            path=request.url.path,
            views=VIEWS,
            words=words,
            **context,
        )
        return HTMLResponse(text, status_code=status)

    async def form_of(self, request: Request, most: int = MAX_FORM_BYTES) -> Mapping[str, str]:
        """Return the fields of a form that changes something."""
        if not self.writable:
            raise HTTPException(403, "This console only reads; start it with --write to change something.")
        return await self.forms.form_of(request, most)


def environment() -> Environment:
    """Return the templates: everything escaped, an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("linkscore_console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(words.FILTERS)
    return made


def console_of(request: Request) -> Console:
    """Return what all views share."""
    return cast("Console", request.app.state.console)


Found = dict[str, Any]
_Find = Callable[..., Awaitable[Found]]


def view(template: str) -> Callable[[_Find], Callable[[Request], Awaitable[Response]]]:
    """Make a page of what gives its context, called with console, request, and crawl and site by name.

    A `status` among it is that of the answer.
    """

    def of(find: _Find) -> Callable[[Request], Awaitable[Response]]:
        async def shown(request: Request) -> Response:
            console, place = console_of(request), dict(request.path_params)
            return console.render(request, template, **(place | await find(console, request, **place)))

        return shown

    return of


def back_to(address: str) -> Response:
    """Send the browser on to a page after a form."""
    return RedirectResponse(address, status_code=303)
