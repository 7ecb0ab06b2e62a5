//! What the sandbox promises, and the test that keeps each promise. A promise whose test is gone fails here.

use std::fs;
use std::path::Path;

/// The promise; the file; the test.
const PROMISES: &[(&str, &str, &str)] = &[
    // Running
    ("code runs and gives its value", "tests/all/context.rs", "the_result_is_the_last_expression"),
    ("inputs are values the code reads", "tests/all/context.rs", "inputs_are_read_by_name"),
    ("nested models are read by attribute", "tests/all/context.rs", "nested_records_are_read_by_attribute"),
    // Inputs
    (
        "an invalid input is an error with its path",
        "tests/all/context.rs",
        "a_wrong_input_is_named_by_its_path_and_nothing_runs",
    ),
    (
        "extra fields follow the schema",
        "tests/all/context.rs",
        "extra_fields_are_taken_or_refused_as_the_schema_says",
    ),
    (
        "required fields must be there",
        "tests/all/schema.rs",
        "errors_name_the_field_and_say_what_was_expected",
    ),
    // Limits
    ("long-running code is ended", "tests/all/context.rs", "an_endless_loop_ends_without_any_configuration"),
    ("memory and recursion are limited", "tests/all/context.rs", "memory_and_recursion_are_limited"),
    ("usage is reported", "tests/all/policy_runs.rs", "usage_is_returned_after_execution"),
    (
        "limit violations are told apart",
        "tests/all/policy_runs.rs",
        "limit_violations_are_reported_as_the_limit_that_was_hit",
    ),
    // Errors
    (
        "exceptions surface with the right lines",
        "tests/all/context.rs",
        "exceptions_keep_their_type_message_and_lines",
    ),
    (
        "tracebacks hold the user's code only",
        "tests/all/context.rs",
        "tracebacks_show_return_as_it_was_written",
    ),
    (
        "a mistake comes with what to do",
        "tests/all/context.rs",
        "a_trailing_assignment_is_an_error_with_a_hint",
    ),
    ("errors link to their page", "tests/all/context.rs", "printed_output_and_usage_come_with_every_outcome"),
    // Outputs
    ("a valid output becomes the model", "tests/all/context.rs", "a_valid_output_becomes_the_rust_type"),
    ("an invalid output names its field", "tests/all/context.rs", "an_invalid_output_is_named_by_its_path"),
    (
        "absent and null fields follow the model",
        "tests/all/context.rs",
        "missing_and_none_fields_of_the_output_follow_the_schema",
    ),
    // Tools
    (
        "registered functions are called",
        "tests/all/tools.rs",
        "tools_are_called_by_bare_name_and_through_tools",
    ),
    ("asynchronous functions are awaited", "tests/all/tools.rs", "awaited_tools_are_awaited"),
    ("concurrent calls overlap", "tests/all/tools.rs", "concurrent_awaits_overlap"),
    ("exceptions of functions propagate", "tests/all/tools.rs", "a_failing_tool_raises_in_the_code"),
    (
        "unregistered functions are answered helpfully",
        "tests/all/tools.rs",
        "a_call_of_an_unknown_name_lists_what_exists",
    ),
    // Types
    (
        "wrong types are caught before execution",
        "tests/all/context.rs",
        "type_errors_are_found_before_anything_runs",
    ),
    ("stubs match the fields", "tests/all/stub.rs", "plain_types"),
    ("unions and optionals are understood", "tests/all/stub.rs", "unions_optionals_and_literals"),
    (
        "dataclasses and nested types are understood",
        "tests/all/stub.rs",
        "nested_objects_are_dataclasses_and_may_recur",
    ),
    ("signatures of functions are checked", "tests/all/stub_checks.rs", "bad_programs_are_found"),
    (
        "generics, aliases and new types are carried along",
        "tests/all/signature.rs",
        "a_stub_file_keeps_its_declarations",
    ),
    // Debugging
    (
        "calls, results and variables are shown",
        "tests/all/tools.rs",
        "a_watched_run_shows_its_variables_at_each_call",
    ),
    (
        "a timeline shows where time went",
        "tests/all/observe.rs",
        "a_timeline_tells_what_happened_and_keeps_the_secret",
    ),
    ("debugging can be off", "tests/all/observe.rs", "without_debug_there_is_no_timeline"),
    // Snapshots
    ("a run pauses at a call and goes on", "tests/all/snapshots.rs", "a_run_pauses_at_each_call_and_goes_on"),
    (
        "a snapshot goes on in another context",
        "tests/all/snapshots.rs",
        "a_paused_run_goes_on_in_another_context",
    ),
    (
        "a changed snapshot is refused",
        "tests/all/snapshots.rs",
        "changed_bytes_another_key_and_another_version_are_different_refusals",
    ),
    ("limits survive the trip", "tests/all/snapshots.rs", "budgets_survive_the_trip"),
    ("sessions keep state", "tests/all/snapshots.rs", "a_session_keeps_its_state_and_can_travel"),
    // Policies
    ("named policies apply their limits", "tests/all/policy.rs", "named_policies_apply_their_limits"),
    ("custom policies can be defined", "tests/all/policy.rs", "custom_policies_can_be_defined_in_a_file"),
    ("policies compose", "tests/all/policy.rs", "composition_takes_the_strictest_of_all"),
    ("invalid policies are refused at construction", "tests/all/policy.rs", "values_outside_their_range"),
    ("guards are validated", "tests/all/policy.rs", "limit_ranges_are_validated"),
    ("guards become the engine's limits", "src/pool.rs", "conversion_to_the_engines_limits_is_correct"),
    // Isolation
    ("runs do not see each other", "tests/all/context.rs", "nothing_of_one_run_is_there_for_the_next"),
    (
        "hostile programs end as they should",
        "tests/all/hostile.rs",
        "every_hostile_program_ends_as_it_should",
    ),
    (
        "the engine's own cases end as on the engine",
        "tests/all/conformance.rs",
        "cases_of_the_engine_end_as_on_the_bare_engine",
    ),
];

#[test]
fn every_promise_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kept = |file: &str, test: &str| {
        let source = fs::read_to_string(root.join(file)).unwrap_or_default();
        source.contains(&format!("fn {test}()"))
    };
    let broken: Vec<_> = PROMISES.iter().filter(|(_, file, test)| !kept(file, test)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}
