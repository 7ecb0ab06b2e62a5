from rendering import ESCAPED, HOSTILE, render

from comment_thread import Comment, CommentThread


def test_deep_replies_are_folded() -> None:
    deepest = Comment("Cleo", "Me too.")
    comments = [Comment("Ada", "I agree.", (Comment("Ben", "So do I.", (deepest,)),))]
    assert render(t"<{CommentThread} comments={comments} />") == (
        '<ol class="comments"><li><p><b>Ada</b></p><p>I agree.</p>'
        '<ol class="comments"><li><p><b>Ben</b></p><p>So do I.</p>'
        "<details><summary>1 more</summary>"
        '<ol class="comments"><li><p><b>Cleo</b></p><p>Me too.</p></li></ol>'
        "</details></li></ol></li></ol>"
    )


def test_hostile_comments_are_escaped_at_every_level() -> None:
    comments = [Comment(HOSTILE, HOSTILE, (Comment(HOSTILE, HOSTILE),))]
    said = f"<p><b>{ESCAPED}</b></p><p>{ESCAPED}</p>"
    assert render(t"<{CommentThread} comments={comments} />") == (
        f'<ol class="comments"><li>{said}'
        f'<ol class="comments"><li>{said}</li></ol></li></ol>'
    )
