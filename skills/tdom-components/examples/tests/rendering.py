"""What the tests share: a hostile text, how it must come out, and rendering without the white space of the source."""

import re
from string.templatelib import Template

from tdom import html

HOSTILE = '<script>alert(1)</script>" onload="x'
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;&#34; onload=&#34;x"


def render(template: Template) -> str:
    """The HTML of a template, without white space between its tags."""
    squeezed = re.sub(r">\s+<", "><", html(template).strip())
    return re.sub(r"\s+", " ", squeezed)
