import svcs

from current_user_service import CurrentUserService, log_in, register


def test_a_login_is_known_in_its_own_request_only() -> None:
    registry = svcs.Registry()
    register(registry)
    with svcs.Container(registry) as request, svcs.Container(registry) as other:
        log_in(request, name="ada", permissions=frozenset({"edit"}))
        user = request.get(CurrentUserService)
        assert (user.name, user.may("edit"), user.may("delete")) == ("ada", True, False)
        anonymous = other.get(CurrentUserService)
        assert (anonymous.name, anonymous.may("edit")) == (None, False)
