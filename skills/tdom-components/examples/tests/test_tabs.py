from rendering import ESCAPED, HOSTILE, render

from tabs import Tab, Tabs


def test_only_the_selected_panel_is_shown() -> None:
    tabs = [Tab("a", "First", t"<p>1</p>"), Tab("b", "Second", t"<p>2</p>")]
    assert render(t"<{Tabs} tabs={tabs} selected='b' />") == (
        '<div class="tabs"><div role="tablist">'
        '<button role="tab" id="tab-a" aria-selected="false" aria-controls="panel-a">'
        "First</button>"
        '<button role="tab" id="tab-b" aria-selected="true" aria-controls="panel-b">'
        "Second</button></div>"
        '<div role="tabpanel" id="panel-a" aria-labelledby="tab-a" hidden><p>1</p></div>'
        '<div role="tabpanel" id="panel-b" aria-labelledby="tab-b"><p>2</p></div></div>'
    )


def test_hostile_titles_and_panels_are_escaped() -> None:
    tabs = [Tab("a", HOSTILE, t"<p>{HOSTILE}</p>")]
    assert render(t"<{Tabs} tabs={tabs} selected='a' />") == (
        '<div class="tabs"><div role="tablist">'
        '<button role="tab" id="tab-a" aria-selected="true" aria-controls="panel-a">'
        f"{ESCAPED}</button></div>"
        '<div role="tabpanel" id="panel-a" aria-labelledby="tab-a">'
        f"<p>{ESCAPED}</p></div></div>"
    )
