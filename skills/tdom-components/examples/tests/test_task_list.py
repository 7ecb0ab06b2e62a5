from rendering import ESCAPED, HOSTILE, render

from task_list import Task, TaskList


def test_finished_tasks_are_ticked() -> None:
    tasks = [Task("Write"), Task("Read", is_done=True)]
    assert render(t"<{TaskList} tasks={tasks} />") == (
        '<ul class="tasks">'
        '<li class="task"><label><input type="checkbox" /> Write</label></li>'
        '<li class="task task-done">'
        '<label><input type="checkbox" checked /> Read</label></li></ul>'
    )


def test_no_tasks_are_said_in_words() -> None:
    assert render(t"<{TaskList} tasks={[]} />") == (
        '<p class="tasks-empty">Nothing to do.</p>'
    )


def test_hostile_titles_are_escaped() -> None:
    assert render(t"<{TaskList} tasks={[Task(HOSTILE)]} />") == (
        '<ul class="tasks"><li class="task">'
        f'<label><input type="checkbox" /> {ESCAPED}</label></li></ul>'
    )
