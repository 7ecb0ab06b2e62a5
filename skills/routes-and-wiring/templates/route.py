"""An example route with a title and items."""

from collections.abc import Callable

View = Callable[..., dict[str, object]]


class Router:
    """The views of this module by method and path; the application asks for them."""

    def __init__(self) -> None:
        self.views: dict[tuple[str, str], View] = {}

    def get(self, path: str) -> Callable[[View], View]:
        def add(view: View) -> View:
            self.views["GET", path] = view
            return view

        return add


router = Router()


@router.get("/example")
def show_example(*, title: str, items: tuple[str, ...]) -> dict[str, object]:
    return {
        "page": "Example",
        "title": title,
        "items": items,
    }
