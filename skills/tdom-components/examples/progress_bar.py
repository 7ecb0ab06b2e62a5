"""Show how far an upload is as a bar with the percentage in it."""

from string.templatelib import Template


def ProgressBar(*, label: str, done: int, total: int) -> Template:
    """A bar from nothing to all; more than all is shown as all."""
    percent = min(100, round(100 * done / total)) if total else 0
    aria = {"label": label, "valuemin": 0, "valuemax": 100, "valuenow": percent}
    width = {"width": f"{percent}%"}
    return t"""
        <div class="progress" role="progressbar" aria={aria}>
            <div class="progress-bar" style={width}>{percent} %</div>
        </div>
    """
