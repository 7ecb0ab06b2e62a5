"""Show comments with their replies nested below, folded from the third level on."""

from collections.abc import Sequence
from dataclasses import dataclass
from string.templatelib import Template

FOLDED_FROM = 3


@dataclass(frozen=True)
class Comment:
    """What somebody said, and what others answered."""

    author: str
    text: str
    replies: tuple[Comment, ...] = ()


def CommentThread(*, comments: Sequence[Comment], level: int = 1) -> Template:
    """A list of comments; replies are threads one level deeper."""
    items = [t"<{CommentItem} comment={each} level={level} />" for each in comments]
    return t'<ol class="comments">{items}</ol>'


def CommentItem(*, comment: Comment, level: int) -> Template:
    """One comment with its replies."""
    return t"""
        <li>
            <p><b>{comment.author}</b></p>
            <p>{comment.text}</p>
            {comment.replies and replies(comment, level + 1)}
        </li>
    """


def replies(comment: Comment, level: int) -> Template:
    """The answers, folded when they are deep."""
    thread = t"<{CommentThread} comments={comment.replies} level={level} />"
    if level < FOLDED_FROM:
        return thread
    summary = t"<summary>{len(comment.replies)} more</summary>"
    return t"<details>{summary}{thread}</details>"
