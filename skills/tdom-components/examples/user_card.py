"""Show a user's name and avatar in a card that links to the profile."""

from string.templatelib import Template


def UserCard(*, name: str, avatar_url: str, profile_url: str) -> Template:
    """A card with a picture and a name, all of it one link."""
    return t"""
        <article class="user-card">
            <a href={profile_url}>
                <img src={avatar_url} alt="" width="48" height="48">
                <span class="user-card-name">{name}</span>
            </a>
        </article>
    """
