import svcs

import current_user_service
import feature_flag_service
from current_user_service import log_in
from feature_flag_service import FeatureFlagService, Flag

FLAGS = {
    "everybody": Flag(share=100),
    "some": Flag(share=30),
    "friends": Flag(users=frozenset({"ada"})),
}


def flags_of(name: str | None) -> FeatureFlagService:
    registry = svcs.Registry()
    current_user_service.register(registry)
    feature_flag_service.register(registry, FLAGS)
    container = svcs.Container(registry)
    if name is not None:
        log_in(container, name=name, permissions=frozenset())
    return container.get(FeatureFlagService)


def test_flags_can_be_for_everybody_or_for_friends() -> None:
    assert flags_of("ada").is_on("friends") is True
    assert flags_of("ben").is_on("friends") is False
    assert flags_of(None).is_on("everybody") is True
    assert flags_of("ada").is_on("unheard of") is False


def test_a_share_of_users_sees_a_feature_and_always_the_same_ones() -> None:
    names = [f"user{number}" for number in range(1000)]
    chosen = [name for name in names if flags_of(name).is_on("some")]
    assert 250 < len(chosen) < 350
    assert chosen == [name for name in names if flags_of(name).is_on("some")]
