//! `manifest.toml`, read strictly: every mistake has its line and says what to do.

use std::fs;
use std::path::Path;

use grail_skills::runnable::{Capability, Credential, MANIFEST_FILE, Manifest};
use grail_skills::{SkillProblem, runnable::is_skill_id};
use proptest::prelude::*;
use semver::Version;

const TEMPLATE: &str = include_str!("../../../../skills/python-skill/templates/manifest.toml");

fn parse(text: &str) -> Result<Manifest, SkillProblem> {
    Manifest::parse(Path::new("manifest.toml"), text, "send-mail")
}

/// The message and hint for a manifest that starts with the three keys every one has.
fn mistake(rest: &str) -> String {
    let text = format!("id = \"send-mail\"\nname = \"Send mail\"\ndescription = \"Sends a mail.\"\n{rest}");
    shown(parse(&text))
}

fn shown(result: Result<Manifest, SkillProblem>) -> String {
    match result {
        Ok(manifest) => format!("{manifest:?}"),
        Err(problem) => match &problem.hint {
            Some(hint) => format!("{problem} ({hint})"),
            None => problem.to_string(),
        },
    }
}

#[test]
fn three_keys_are_enough() {
    let manifest =
        parse("id = \"send-mail\"\nname = \"Send mail\"\ndescription = \"Sends a mail.\"\n").unwrap();
    assert_eq!(manifest.version, Version::new(0, 1, 0));
    assert_eq!(manifest.entry_file, Path::new("skill.py"));
    assert_eq!((manifest.min_python, manifest.min_uv_version), (None, None));
    assert!(manifest.credentials.is_empty() && manifest.capabilities.is_empty());
}

#[test]
fn the_template_is_a_manifest() {
    let manifest = Manifest::parse(Path::new("manifest.toml"), TEMPLATE, "example").unwrap();
    assert_eq!(manifest.name, "Example");
}

#[test]
fn everything_that_can_be_said() {
    let manifest = parse(
        r#"
id = "send-mail"
name = "Send mail"
version = "1.2.3-rc.1"
description = "Sends a mail."
entry_file = "src/mail.py"
min_python = "3.11"
min_uv_version = "0.5.0"

[capabilities]
network = true
files = "read"
env = ["LANG"]

[[credentials]]
name = "api-key"
env_var = "MAIL_API_KEY"
description = "Key of the mail service"

[[credentials]]
name = "server"
env_var = "MAIL_SERVER"
required = false
default = "mail.example.com"
"#,
    )
    .unwrap();
    let declared: Vec<String> = manifest.declared().iter().map(ToString::to_string).collect();
    assert_eq!(declared, ["network", "files:read", "env:LANG", "env:MAIL_API_KEY", "env:MAIL_SERVER"]);
    assert_eq!(
        manifest.credentials[1],
        Credential {
            name: "server".into(),
            env_var: "MAIL_SERVER".into(),
            description: String::new(),
            required: false,
            default: Some("mail.example.com".into()),
        }
    );
    assert!(manifest.credentials[0].required);
}

#[test]
fn a_mistake_has_a_line_and_a_hint() {
    let cases = [
        ("verson = \"1.0.0\"", "manifest.toml:4: there is no key `verson` here (did you mean `version`?)"),
        (
            "tags = []",
            "manifest.toml:4: there is no key `tags` here (known here: `id`, `name`, `version`, `description`, `entry_file`, `min_python`, `min_uv_version`, `capabilities`, `credentials`)",
        ),
        (
            "version = \"1.0\"",
            "manifest.toml:4: `1.0` is no version: unexpected end of input while parsing minor version number (a version has three numbers: `0.1.0`)",
        ),
        (
            "min_python = \">=3.11\"",
            "manifest.toml:4: `min_python` is `>=3.11`, which is no version (write the version alone, without `>=`: `3.11`)",
        ),
        (
            "min_uv_version = \"new\"",
            "manifest.toml:4: `min_uv_version` is `new`, which is no version (write the version alone, without `>=`: `3.11`)",
        ),
        ("version = 1", "manifest.toml:4: invalid type: integer `1`, expected a string"),
        ("name = \"again\"", "manifest.toml:4: duplicate key"),
        (
            "[capabilities]\nfiles = \"all\"",
            "manifest.toml:5: `files` is `all` (write `read`, or `write` for both)",
        ),
        (
            "[capabilities]\nenv = [\"A\", \"B C\"]",
            "manifest.toml:5: `B C` is no name of an environment variable (`\"*\"` stands for any)",
        ),
        (
            "[capabilities]\nnet = true",
            "manifest.toml:5: there is no key `net` here (known here: `network`, `subprocess`, `files`, `env`, `native`, `dynamic`)",
        ),
        ("[[credentials]]\nenv_var = \"A\"", "manifest.toml:4: the credential has no `name`"),
        ("[[credentials]]\nname = \"a\"", "manifest.toml:4: the credential has no `env_var`"),
        (
            "[[credentials]]\nname = \"API key\"\nenv_var = \"A\"",
            "manifest.toml:5: `API key` is no name for a credential (use lower-case letters, digits, `-` and `_`: `api-key`)",
        ),
        (
            "[[credentials]]\nname = \"a\"\nenv_var = \"1A\"",
            "manifest.toml:6: `1A` is no name of an environment variable (use letters, digits and `_`: `EXAMPLE_API_KEY`)",
        ),
        (
            "[[credentials]]\nname = \"a\"\nenv_var = \"LD_PRELOAD\"",
            "manifest.toml:6: `LD_PRELOAD` steers the programs that run a skill and cannot be a credential (choose a variable of the skill's own)",
        ),
        (
            "[[credentials]]\nname = \"a\"\nenv_var = \"A\"\n[[credentials]]\nname = \"a\"\nenv_var = \"B\"",
            "manifest.toml:8: there are two credentials `a`",
        ),
        (
            "[[credentials]]\nname = \"a\"\nenv_var = \"A\"\n[[credentials]]\nname = \"b\"\nenv_var = \"A\"",
            "manifest.toml:9: two credentials have the variable `A`",
        ),
        (
            "[[credentials]]\nname = \"a\"\nenv_var = \"A\"\nvalue = \"secret\"",
            "manifest.toml:7: there is no key `value` here (known here: `name`, `env_var`, `description`, `required`, `default`)",
        ),
    ];
    for (rest, expected) in cases {
        assert_eq!(mistake(rest), expected, "{rest}");
    }
}

#[test]
fn the_script_stays_inside_the_folder() {
    for path in [
        "../skill.py",
        "/etc/passwd",
        "a/../../b.py",
        "./skill.py",
        "a\\\\..\\\\b.py",
        "",
        ".",
        "a/",
        "a//b/..",
    ] {
        let found = mistake(&format!("entry_file = \"{path}\""));
        assert!(found.starts_with("manifest.toml:4: `entry_file` is `"), "{path}: {found}");
        assert!(found.contains("which is no file inside the folder"), "{path}: {found}");
    }
}

#[test]
fn an_id_is_the_folder_s_name() {
    let with_id = |id: &str| {
        shown(Manifest::parse(
            Path::new("manifest.toml"),
            &format!("id = \"{id}\"\nname = \"n\"\ndescription = \"d\"\n"),
            "send-mail",
        ))
    };
    assert_eq!(
        with_id("send_mail"),
        "manifest.toml:1: the id is `send_mail` but the folder is `send-mail` (give both the same name)"
    );
    assert_eq!(
        with_id("Send mail"),
        "manifest.toml:1: `Send mail` is no id of a skill (an id has 1 to 64 lower-case letters, digits, `-` and `_`)"
    );
    assert!(with_id("../evil").contains("is no id of a skill"));
    assert!(!is_skill_id("") && !is_skill_id(&"a".repeat(65)) && is_skill_id(&"a".repeat(64)));
    assert_eq!(
        shown(parse("name = \"n\"\ndescription = \"d\"")),
        "manifest.toml: the manifest has no `id` (add `id = \"…\"`)"
    );
}

#[test]
fn texts_are_bounded() {
    let long = "x".repeat(1025);
    assert_eq!(
        shown(parse(&format!("id = \"send-mail\"\nname = \"n\"\ndescription = \"{long}\"\n"))),
        "manifest.toml:3: `description` has 1025 characters; at most 1024 are allowed"
    );
    assert_eq!(
        shown(parse("id = \"send-mail\"\nname = \" \"\ndescription = \"d\"\n")),
        "manifest.toml:2: `name` is empty"
    );
    assert_eq!(
        shown(parse("id = \"send-mail\"\nname = \"a\\nb\"\ndescription = \"d\"\n")),
        "manifest.toml:2: `name` has to be one line without control characters"
    );
    assert_eq!(shown(parse(&"#".repeat(65 * 1024))), "manifest.toml: the file is larger than 65536 bytes");
    let deep = format!("id = {}1{}", "[".repeat(20_000), "]".repeat(20_000));
    assert!(parse(&deep).is_err());
}

/// A folder `send-mail` with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("send-mail");
    fs::create_dir(&folder).unwrap();
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    scratch
}

/// What reading the folder says, with the scratch folder's own name left out.
fn reading(scratch: &tempfile::TempDir) -> String {
    let result = Manifest::read(&scratch.path().join("send-mail"));
    shown(result).replace(&format!("{}/", scratch.path().display()), "")
}

const MINIMAL: &str = "id = \"send-mail\"\nname = \"n\"\ndescription = \"d\"\n";

#[test]
fn the_folder_holds_what_the_manifest_names() {
    assert_eq!(reading(&folder(&[])), "send-mail/manifest.toml: there is no such file");
    assert_eq!(
        reading(&folder(&[(MANIFEST_FILE, MINIMAL)])),
        "send-mail/manifest.toml: `entry_file` is `skill.py`: there is no such file"
    );
    let text = format!("{MINIMAL}entry_file = \"run.py\"\n");
    assert_eq!(
        reading(&folder(&[(MANIFEST_FILE, &text), ("run.py", " \n")])),
        "send-mail/manifest.toml:4: `entry_file` is `run.py`: the file is empty"
    );
    assert_eq!(
        reading(&folder(&[(MANIFEST_FILE, MINIMAL), ("skill.py/inner.py", "1")])),
        "send-mail/manifest.toml: `entry_file` is `skill.py`: this is not a file"
    );
    assert_eq!(
        reading(&folder(&[(MANIFEST_FILE, MINIMAL), ("skill.py", &"#".repeat(1024 * 1024 + 1))])),
        "send-mail/manifest.toml: `entry_file` is `skill.py`: the file is larger than 1048576 bytes"
    );
    let whole = folder(&[(MANIFEST_FILE, MINIMAL), ("skill.py", "print()\n")]);
    let (manifest, script) = Manifest::read_with_script(&whole.path().join("send-mail")).unwrap();
    assert_eq!((manifest.id.as_str(), script.as_str()), ("send-mail", "print()\n"));
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_refused() {
    use std::os::unix::fs::symlink;
    let scratch = folder(&[(MANIFEST_FILE, MINIMAL)]);
    fs::write(scratch.path().join("outside.py"), "print()").unwrap();
    symlink("../outside.py", scratch.path().join("send-mail/skill.py")).unwrap();
    assert_eq!(
        reading(&scratch),
        "send-mail/manifest.toml: `entry_file` is `skill.py`: the path is a link out of the folder"
    );

    let scratch = folder(&[("skill.py", "print()")]);
    fs::write(scratch.path().join("manifest.toml"), MINIMAL).unwrap();
    symlink("../manifest.toml", scratch.path().join("send-mail/manifest.toml")).unwrap();
    assert_eq!(reading(&scratch), "send-mail/manifest.toml: the path is a link out of the folder");
}

fn capability() -> impl Strategy<Value = Capability> {
    prop_oneof![
        Just(Capability::Network),
        Just(Capability::Subprocess),
        Just(Capability::Native),
        Just(Capability::Dynamic),
        Just(Capability::Environment(None)),
        "[A-Z_][A-Z0-9_]{0,10}".prop_map(|name| Capability::Environment(Some(name))),
    ]
}

proptest! {
    /// Whatever an intent contains: it was once put into TOML as it stood.
    #[test]
    fn what_is_written_reads_back(
        name in "[^\\p{Cc}]{0,20}[a-z\"'\\\\]",
        description in prop_oneof![Just("a \"\"\" b ''' \\ \n [x]\nid = \"evil\"".to_owned()), ".{0,40}x", "(?s).{0,40}x"],
        major in 0u64..9,
        capabilities in prop::collection::btree_set(capability(), 0..5),
        files in prop::option::of(prop::bool::ANY),
        default in prop::option::of("(?s).{0,20}"),
    ) {
        let mut capabilities = capabilities;
        capabilities.extend(files.map(|writes| if writes { Capability::WriteFiles } else { Capability::ReadFiles }));
        let manifest = Manifest {
            id: "send-mail".into(),
            name,
            version: Version::new(major, 1, 0),
            description,
            entry_file: "src/skill.py".into(),
            min_python: Some("3.11".parse().unwrap()),
            min_uv_version: None,
            capabilities,
            credentials: vec![Credential {
                name: "api-key".into(),
                env_var: "KEY".into(),
                description: String::new(),
                required: default.is_none(),
                default,
            }],
        };
        prop_assert_eq!(parse(&manifest.to_toml()).map_err(|problem| problem.to_string()), Ok(manifest));
    }

    #[test]
    fn nothing_panics(text in "(?s).{0,200}") {
        let _ = parse(&text);
    }
}
