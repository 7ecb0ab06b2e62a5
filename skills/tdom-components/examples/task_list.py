"""Show my tasks as a list with the finished ones ticked, or say that there are none."""

from collections.abc import Sequence
from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True)
class Task:
    """Something to do."""

    title: str
    is_done: bool = False


def TaskItem(*, task: Task) -> Template:
    """One task with its box."""
    classes = {"task": True, "task-done": task.is_done}
    return t"""
        <li class={classes}>
            <label><input type="checkbox" checked={task.is_done}> {task.title}</label>
        </li>
    """


def TaskList(*, tasks: Sequence[Task]) -> Template:
    """All tasks in the order they come."""
    if not tasks:
        return t'<p class="tasks-empty">Nothing to do.</p>'
    items = [t"<{TaskItem} task={task} />" for task in tasks]
    return t'<ul class="tasks">{items}</ul>'
