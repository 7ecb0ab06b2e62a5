"""Collect the style sheets of all components on a page, each once and in order."""

from dataclasses import dataclass, field

from interfaces.components import Context, Props, Target


@dataclass
class PageAssets:
    """What the head of the page will link to; one per request."""

    stylesheets: list[str] = field(default_factory=list)

    def add(self, url: str) -> None:
        if url not in self.stylesheets:
            self.stylesheets.append(url)


@dataclass(frozen=True, kw_only=True)
class AssetCollectionMiddleware:
    """Runs last: a component that was halted needs no style."""

    priority: int = 100

    def __call__(self, target: Target, props: Props, context: Context) -> Props:
        assets = context.get(PageAssets)
        for url in getattr(target, "stylesheets", ()):
            assets.add(url)
        return props
