"""Puts the application together. Nothing else registers anything."""

import svcs

from app.services import example
from app.settings import Settings
from app.views import example as example_views
from app.web import App


def create_app(settings: Settings) -> App:
    registry = svcs.Registry()
    registry.register_value(Settings, settings)
    example.register(registry)

    app = App(registry)
    app.include_router(example_views.router)
    return app
