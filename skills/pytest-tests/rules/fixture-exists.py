"""Parameters of tests and fixtures that name no fixture."""

BUILT_IN = """
    cache capfd capfdbinary caplog capsys capsysbinary capteesys doctest_namespace monkeypatch pytestconfig pytester record_property
    record_testsuite_property record_xml_attribute recwarn request subtests testdir tmp_path tmp_path_factory tmpdir tmpdir_factory
"""

PLUGINS = """
    admin_client admin_user aiohttp_client aiohttp_raw_server aiohttp_server aioresponses anyio_backend anyio_backend_name app app_context
    async_client benchmark browser browser_context browser_name celery_app celery_config celery_session_app celery_worker class_mocker
    client client_class context cov datadir db django_assert_max_num_queries django_assert_num_queries django_db_blocker django_db_setup
    django_user_model event_loop event_loop_policy faker free_tcp_port free_udp_port freezer fs httpbin httpserver httpx_mock live_server
    mailoutbox mocker module_mocker no_cover original_datadir package_mocker page playwright postgresql qtbot redisdb requests_mock respx_mock rf
    session_mocker settings shared_datadir snapshot socket_enabled testrun_uid transactional_db unused_tcp_port unused_udp_port worker_id
"""


def check_project(project):
    known = set((BUILT_IN + PLUGINS).split())
    known.update(options["known"])
    for definition in project["definitions"]:
        if is_fixture(definition):
            known.add(definition["name"])
    for call in project["calls"]:
        for argument in call["arguments"]:
            if argument["keyword"] == "name" and "string" in argument:
                known.add(argument["string"])
    found = []
    for definition in project["definitions"]:
        if definition["kind"] != "function" or not takes_fixtures(definition):
            continue
        for parameter in definition["parameters"]:
            is_plain = parameter["kind"] not in ("star", "double_star") and not parameter["has_default"]
            if is_plain and parameter["name"] not in known:
                message = "nobody defines the fixture `" + parameter["name"] + "`"
                found.append({"node": definition, "path": definition["path"], "message": message})
    return found


def is_fixture(definition):
    return any(decorator.split(".")[-1] == "fixture" for decorator in definition["decorators"])


def takes_fixtures(definition):
    """Whether pytest fills the parameters, and nobody else does."""
    decorators = [decorator for decorator in definition["decorators"] if decorator.split(".")[-1] != "fixture"]
    if any(not decorator.startswith("pytest.mark.") or decorator == "pytest.mark.parametrize" for decorator in decorators):
        return False
    return is_fixture(definition) or is_test_file(definition["path"])


def is_test_file(path):
    name = path.split("/")[-1]
    return name.startswith("test_") or name.endswith("_test.py")
