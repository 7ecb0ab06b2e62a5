"""Show several panels as tabs with one of them selected."""

from collections.abc import Sequence
from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True)
class Tab:
    """A panel and the name on its tab."""

    key: str
    title: str
    panel: Template


@dataclass(frozen=True, kw_only=True)
class Tabs:
    """A row of tabs above their panels; the others stay in the page, hidden."""

    tabs: Sequence[Tab]
    selected: str

    def __call__(self) -> Template:
        return t"""
            <div class="tabs">
                <div role="tablist">{[self.handle(tab) for tab in self.tabs]}</div>
                {[self.panel(tab) for tab in self.tabs]}
            </div>
        """

    def handle(self, tab: Tab) -> Template:
        aria = {"selected": tab.key == self.selected, "controls": f"panel-{tab.key}"}
        return t'<button role="tab" id="tab-{tab.key}" aria={aria}>{tab.title}</button>'

    def panel(self, tab: Tab) -> Template:
        return t"""
            <div role="tabpanel" id="panel-{tab.key}" aria-labelledby="tab-{tab.key}"
                hidden={tab.key != self.selected}>{tab.panel}</div>
        """
