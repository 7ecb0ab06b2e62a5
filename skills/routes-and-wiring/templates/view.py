"""What the page shows, in one sentence."""

from app.services.example import ExampleService
from app.web import Page, router


@router.get("/examples/{example_id}")
def show_example(*, example_id: int, examples: ExampleService) -> Page:
    return Page(title=examples.load(example_id).title)
