//! Rules from sentences: proved by their own examples before they are proposed.

use grail_agent::generate::Company;
use grail_agent::rule_draft::{RuleWriter, SHAPES, draft_rule};
use grail_agent::{AgentError, Proposal, ProposalStore, StoppedClock};
use grail_model::{Scripted, Step, ToolCall};
use grail_rules::{Library, test_rule};
use serde_json::json;

use crate::sample::{Sample, write};

async fn draft(sample: &Sample, sentence: &str) -> Result<Proposal, AgentError> {
    draft_rule(&sample.workspace, RuleWriter::Template, sentence, None, Company::default()).await
}

fn text<'p>(proposal: &'p Proposal, ending: &str) -> &'p str {
    let file = proposal.files.iter().find(|file| file.path.ends_with(ending)).unwrap();
    file.after.as_deref().unwrap()
}

#[tokio::test]
async fn every_shape_that_is_named_becomes_a_rule_whose_examples_hold() {
    let sample = Sample::new(&[]);
    for sentence in SHAPES {
        let proposal = draft(&sample, sentence).await.unwrap_or_else(|error| panic!("{sentence}: {error}"));
        assert!(proposal.summary.ends_with("its 2 examples hold"), "{sentence}: {}", proposal.summary);
    }
    let more = [
        "we must not print",
        "No component may read files",
        "methods must not call time.sleep()",
        "nothing must use eval",
        "Classes must inherit from app.models.Base",
        "services should never make HTTP requests",
        "the names of functions start with do_",
        "repositories must not import flask",
        "tests must have a docstring",
        "entities have type annotations",
        "classes must have docstrings.",
        "handlers must be decorated with @app.handler",
    ];
    for sentence in more {
        let drafted = draft(&sample, sentence).await;
        assert!(drafted.is_ok(), "{sentence}: {}", drafted.unwrap_err());
    }
}

#[tokio::test]
async fn whoever_is_meant_the_examples_hold_or_the_sentence_is_refused() {
    let sample = Sample::new(&[]);
    let subjects = [
        "functions",
        "methods",
        "classes",
        "views",
        "code",
        "all services",
        "tests",
        "every repository",
        "addresses",
    ];
    let demands = [
        "must not query the database",
        "must never call print",
        "must not call time.sleep",
        "may not use legacy_total",
        "must not use shop.legacy.total",
        "must not import pickle",
        "must not import shop.legacy",
        "must not read environment variables",
        "should not make http requests",
        "must not open files",
        "must be decorated with @view",
        "must be decorated with @app.route",
        "must have docstrings",
        "must have type annotations",
        "must be async",
        "must inherit from Base",
    ];
    let mut refused = Vec::new();
    for subject in subjects {
        for demand in demands {
            let sentence = format!("{subject} {demand}");
            match draft(&sample, &sentence).await {
                Ok(_) => {}
                Err(AgentError::Other { .. }) => refused.push(sentence),
                Err(error) => panic!("{sentence}: {error}"),
            }
        }
        for affix in ["names end with _x", "names start with do_"] {
            let noun = subject.split(' ').next_back().unwrap();
            let sentence = format!("{noun} {affix}");
            draft(&sample, &sentence).await.unwrap_or_else(|error| panic!("{sentence}: {error}"));
        }
    }
    assert_eq!(
        refused,
        [
            "functions must inherit from Base",
            "methods must inherit from Base",
            "classes must have type annotations",
            "classes must be async"
        ]
    );
}

#[tokio::test]
async fn a_rule_about_views_knows_what_a_view_is() {
    let sample = Sample::new(&[]);
    let proposal = draft(&sample, "views must not query the database").await.unwrap();
    let paths: Vec<&str> = proposal.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            ".agents/skills/project-rules/SKILL.md",
            ".agents/skills/project-rules/rules/pack.toml",
            ".agents/skills/project-rules/rules/views-not-query-database.md"
        ]
    );
    insta::assert_snapshot!(text(&proposal, "database.md"), @r#"
    ---
    id: views-not-query-database
    severity: error
    applies-to: [project-view]
    ---

    # Views must not query the database

    This is how this project is written. Say here why, for whoever meets the rule.

    ```yaml rule
    forbid:
      - {type: Call, func: {type: Attribute, attr: {regex: "^(execute|executemany|query|fetchone|fetchall|scalars?|commit|raw)$"}}}
      - {type: Attribute, attr: {regex: "^objects$"}}
    message: "views must not query the database"
    help: "ask something whose work it is to query"
    ```

    ## Bad

    ```python app/views.py
    def index(request):
        return connection.execute("SELECT 1")  # error: views must not query the database
    ```

    ## Good

    ```python app/views.py
    def index(request):
        return find_orders(request)
    ```
    "#);
    insta::assert_snapshot!(text(&proposal, "pack.toml"), @r#"
    [kinds.project-view]
    description = "What is named `view`, decorated with `@view`, or defined in a file of views"
    recognise = [
      '{type: FunctionDef, not: {predicate: is_method}, name: {regex: "(^|_)view$"}}',
      '{type: ClassDef, name: {regex: "View$"}}',
      '{type: FunctionDef, decorators: {contains: view}}',
    ]
    files = ["**/views.py", "**/views/**/*.py"]
    except = ["**/tests/**", "**/test_*.py", "**/*_test.py", "**/conftest.py"]
    "#);
}

#[tokio::test]
async fn an_approved_rule_is_in_force_and_can_be_undone() {
    let sample = Sample::new(&[]);
    let proposal = draft(&sample, "views must not query the database").await.unwrap();
    assert_eq!(sample.read(".agents/skills/project-rules/rules/pack.toml"), None);
    let store = ProposalStore::of_project(sample.root());
    store.save(&proposal, None).unwrap();
    store.approve(&proposal.id, &StoppedClock::default()).unwrap();
    let library = Library::discover(sample.root(), None);
    let pack = library.packs.iter().find(|pack| &*pack.name == "project-rules").unwrap();
    assert!(pack.problems.is_empty(), "{:?}", pack.problems);
    assert!(test_rule(&pack.rules[0], &pack.kinds, None).passed());
    // What `grail generate` makes when it is asked for a view is still the built-in kind, with its template.
    let view = library.kinds().find(|(_, kind)| kind.name == "view").unwrap();
    assert!(view.1.template.is_some());
    // A second rule about views uses the kind that is there.
    let second = draft(&sample, "views must be decorated with @view").await.unwrap();
    assert_eq!(second.files.len(), 1);
    let again = draft(&sample, "views must not query the database").await.unwrap_err();
    assert!(matches!(again, AgentError::Exists { .. }), "{again}");
    store.revert(&proposal.id, &StoppedClock::default()).unwrap();
    assert_eq!(sample.read(".agents/skills/project-rules/rules/pack.toml"), None);
}

#[tokio::test]
async fn what_is_in_a_pack_stays_in_it() {
    let pack = "# Ours.\n[kinds.page]\ndescription = \"A page\"\nfiles = [\"**/pages.py\"]";
    let sample = Sample::new(&[(".agents/skills/shop/rules/pack.toml", pack)]);
    let writer = RuleWriter::Template;
    let proposal =
        draft_rule(&sample.workspace, writer, "views must be async", Some("shop"), Company::default())
            .await
            .unwrap();
    let changed = text(&proposal, "pack.toml");
    assert!(changed.starts_with(pack) && changed.contains("\n\n[kinds.project-view]\n"), "{changed}");
    let page = draft_rule(&sample.workspace, writer, "pages must be async", Some("shop"), Company::default())
        .await
        .unwrap();
    assert!(page.files.iter().all(|file| !file.path.ends_with("pack.toml")));
}

#[tokio::test]
async fn other_sentences_are_refused_with_the_shapes_that_are_known() {
    let sample = Sample::new(&[]);
    let nonsense =
        ["make it nice", "views", "views must sparkle", "must not", "must not call", "X must be Y and Z"];
    for sentence in nonsense {
        let error = draft(&sample, sentence).await.unwrap_err();
        assert_eq!(error.to_string(), "no rule can be made of this sentence without a model", "{sentence}");
        assert!(error.hint().unwrap().contains("views must not query the database; "));
    }
    let error = draft(&sample, "").await.unwrap_err();
    assert!(matches!(error, AgentError::Intent { .. }));
    let named = draft_rule(
        &sample.workspace,
        RuleWriter::Template,
        "views must be async",
        Some("../evil"),
        Company::default(),
    );
    assert!(named.await.is_err());
}

#[tokio::test]
async fn what_is_more_than_words_does_not_get_into_the_rule() {
    let sample = Sample::new(&[]);
    let nasty = [
        "views must not call `x`\"\n```\n---\nid: evil",
        "views must not call $$$NAME %{option}",
        "functions must have docstrings\n\n## Bad\n```python\nx\n```",
        "views must not query the database \u{1b}[2J\u{202e}",
        "names of functions end with _x\"}]",
    ];
    for sentence in nasty {
        // Refused or harmless, never broken.
        if let Ok(proposal) = draft(&sample, sentence).await {
            let text = text(&proposal, ".md");
            assert!(!text.contains(['\u{1b}', '\u{202e}', '$']) && !text.contains("id: evil"), "{text}");
        }
    }
}

fn write_rule(text: &str) -> Step {
    let arguments = json!({"text": text});
    Step::Call(vec![ToolCall { id: "1".to_owned(), name: "write_rule".to_owned(), arguments }])
}

const RULE: &str = "---\nid: no-todo\nseverity: warning\n---\n\n# Nothing is left to do\n\nNobody comes back to it.\n\n```yaml rule\nmatch: todo($$$)\nmessage: \"this is left to do\"\n```\n\n## Bad\n\n```python\ntodo(\"later\")  # warning: this is left to do\n```\n\n## Good\n\n```python\ndo(\"now\")\n```\n";

#[tokio::test]
async fn a_model_mends_a_rule_until_its_examples_hold() {
    let sample = Sample::new(&[]);
    let wrong = RULE.replace("match: todo($$$)", "match: to_do($$$)");
    let model = Scripted::new([write_rule(&wrong), write_rule(RULE)]);
    let writer = RuleWriter::Model { model: &model, name: "local" };
    let proposal =
        draft_rule(&sample.workspace, writer, "nothing is left to do", Some("shop"), Company::default())
            .await
            .unwrap();
    assert_eq!((proposal.retries, proposal.turns, proposal.model.name.as_str()), (1, 2, "local"));
    assert_eq!(text(&proposal, "no-todo.md"), RULE);
    let told = model.asked()[1].messages.last().unwrap().content.clone();
    insta::assert_snapshot!(told, @"
    The rule is not right yet. Write the whole file again.
    rules/no-todo.md:18: expected, not found: warning: this is left to do
    rules/no-todo.md:15: the rule finds nothing in this bad example
    ");
}

#[tokio::test]
async fn a_rule_whose_examples_never_hold_is_not_proposed() {
    let sample = Sample::new(&[]);
    let wrong =
        |number: usize| write_rule(&RULE.replace("match: todo($$$)", &format!("match: to_do_{number}($$$)")));
    let model = Scripted::new((0..5).map(wrong));
    let writer = RuleWriter::Model { model: &model, name: "local" };
    let error =
        draft_rule(&sample.workspace, writer, "nothing is left", None, Company::default()).await.unwrap_err();
    assert!(error.to_string().contains("after 4 rounds its examples do not hold"), "{error}");
    write(sample.root(), "untouched", "");
    assert_eq!(sample.read(".agents/skills/project-rules/SKILL.md"), None);
}
