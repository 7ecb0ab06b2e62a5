from rendering import ESCAPED, HOSTILE, render

from tree_menu import MenuNode, TreeMenu


def test_entries_with_entries_fold() -> None:
    nodes = (MenuNode("Docs", "/docs", (MenuNode("API", "/docs/api"),)),)
    assert render(t"<{TreeMenu} nodes={nodes} />") == (
        '<ul><li><details><summary><a href="/docs">Docs</a></summary>'
        '<ul><li><a href="/docs/api">API</a></li></ul></details></li></ul>'
    )


def test_hostile_entries_are_escaped_at_every_depth() -> None:
    nodes = (MenuNode(HOSTILE, "/", (MenuNode(HOSTILE, HOSTILE),)),)
    assert render(t"<{TreeMenu} nodes={nodes} />") == (
        f'<ul><li><details><summary><a href="/">{ESCAPED}</a></summary>'
        f'<ul><li><a href="{ESCAPED}">{ESCAPED}</a></li></ul></details></li></ul>'
    )
