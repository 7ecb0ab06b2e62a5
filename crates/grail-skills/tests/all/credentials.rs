//! Credentials: kept for their owner, handed to the skill alone, and shown nowhere.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use grail_skills::SkillError;
use grail_skills::credentials::{
    CredentialEnvironment, CredentialFile, CredentialStore, Keyring, Redactor, Secret, is_reserved_variable,
};
use serde_json::json;

use crate::runnable_skill::{Scratch, told};

const KEY: &str = "[[credentials]]\nname = \"api-key\"\nenv_var = \"SHOWS_KEY\"\n";
const VALUE: &str = "s3cr\"t-välue";

#[test]
fn what_was_set_is_found_listed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = CredentialFile::new(folder.path().join("state/credentials.json"));
    assert_eq!(store.names().unwrap(), []);
    assert_eq!(store.get("weather", "api-key").unwrap(), None);
    store.set("weather", "api-key", &Secret::new(VALUE)).unwrap();
    store.set("mail", "password", &Secret::new("hunter2")).unwrap();
    assert_eq!(store.get("weather", "api-key").unwrap().unwrap().expose(), VALUE);
    assert_eq!(store.get("mail", "api-key").unwrap(), None);
    let names = [("mail", "password"), ("weather", "api-key")]
        .map(|(skill, name)| (skill.to_owned(), name.to_owned()));
    assert_eq!(store.names().unwrap(), names);
    assert!(store.remove("weather", "api-key").unwrap());
    assert!(!store.remove("weather", "api-key").unwrap());
    assert_eq!(store.get("weather", "api-key").unwrap(), None);
}

/// A keyring that keeps its values in memory, and can be locked.
#[derive(Clone, Default)]
struct MemoryKeyring {
    values: Arc<Mutex<BTreeMap<String, Secret>>>,
    is_locked: Arc<AtomicBool>,
}

impl MemoryKeyring {
    fn open(&self) -> Result<MutexGuard<'_, BTreeMap<String, Secret>>, String> {
        match self.is_locked.load(Ordering::Relaxed) {
            true => Err("it is locked".to_owned()),
            false => Ok(self.values.lock().unwrap()),
        }
    }
}

impl Keyring for MemoryKeyring {
    fn get(&self, account: &str) -> Result<Option<Secret>, String> {
        Ok(self.open()?.get(account).cloned())
    }

    fn set(&self, account: &str, secret: &Secret) -> Result<(), String> {
        self.open()?.insert(account.to_owned(), secret.clone());
        Ok(())
    }

    fn remove(&self, account: &str) -> Result<(), String> {
        self.open()?.remove(account);
        Ok(())
    }
}

#[test]
fn where_there_is_a_keyring_the_file_holds_names_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.json");
    let keyring = MemoryKeyring::default();
    let store = CredentialFile::with_keyring(&path, Some(Box::new(keyring.clone())));
    store.set("weather", "api-key", &Secret::new(VALUE)).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        r#"{"version":1,"skills":{"weather":{"api-key":"in-keyring"}}}"#
    );
    assert_eq!(store.get("weather", "api-key").unwrap().unwrap().expose(), VALUE);
    assert_eq!(keyring.open().unwrap().keys().collect::<Vec<_>>(), ["user/weather/api-key"]);

    keyring.is_locked.store(true, Ordering::Relaxed);
    let error = store.get("weather", "api-key").unwrap_err();
    assert_eq!(error.to_string(), "the system's keyring cannot be used: it is locked");
    assert_eq!(error.hint().unwrap(), "unlock it, or set the credential again");
    // Without a keyring that answers, the value goes into the file.
    store.set("weather", "other", &Secret::new("hunter22")).unwrap();
    assert_eq!(store.get("weather", "other").unwrap().unwrap().expose(), "hunter22");
    keyring.is_locked.store(false, Ordering::Relaxed);

    assert!(store.remove("weather", "api-key").unwrap());
    assert!(keyring.open().unwrap().is_empty());
    // A program without the keyring says what is missing.
    store.set("weather", "api-key", &Secret::new(VALUE)).unwrap();
    let error = CredentialFile::new(&path).get("weather", "api-key").unwrap_err();
    assert_eq!(error.to_string(), "the system's keyring cannot be used: there is none");
}

#[test]
fn two_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let store = CredentialFile::new(&path);
            scope.spawn(move || {
                store.set("weather", &format!("key-{number}"), &Secret::new("value")).unwrap()
            });
        }
    });
    assert_eq!(CredentialFile::new(&path).names().unwrap().len(), 8);
}

#[cfg(unix)]
#[test]
fn the_file_is_for_its_owner_only_and_refused_otherwise() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    let store = CredentialFile::new(&path);
    store.set("weather", "api-key", &Secret::new(VALUE)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let error = store.get("weather", "api-key").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the credentials in `{}` are open to others (mode 644)", path.display())
    );
    assert_eq!(
        error.hint().unwrap(),
        format!("`chmod 600 {}`, and change what others may have seen", path.display())
    );
    assert!(store.set("weather", "api-key", &Secret::new("other")).is_err());
}

#[test]
fn a_broken_file_is_an_error_that_quotes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    let store = CredentialFile::new(&path);
    store.set("weather", "api-key", &Secret::new(VALUE)).unwrap();
    let broken = fs::read_to_string(&path).unwrap().replace("}}", "}");
    fs::write(&path, broken).unwrap();
    let error = store.names().unwrap_err();
    assert_eq!(error.to_string(), format!("`{}` is not a file of credentials", path.display()));
    assert!(matches!(error, SkillError::CredentialFileUnreadable { .. }));
}

#[test]
fn a_value_that_no_variable_can_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = CredentialFile::new(folder.path().join("credentials.json"));
    for value in ["", "with\0zero", &"x".repeat(70_000)] {
        let error = store.set("weather", "api-key", &Secret::new(value)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the value for the credential `api-key` is empty, too long or not text"
        );
    }
}

#[test]
fn a_secret_is_not_shown_when_it_is_debugged() {
    let folder = tempfile::tempdir().unwrap();
    let store = CredentialFile::new(folder.path().join("credentials.json"));
    store.set("shows-environment", "api-key", &Secret::new(VALUE)).unwrap();
    let Some(scratch) = Scratch::with_manifest("shows-environment", KEY) else { return };
    let environment = CredentialEnvironment::resolve(&scratch.skill.manifest, &store).unwrap();
    assert_eq!(format!("{:?}", Secret::new(VALUE)), "Secret(..)");
    assert!(!format!("{store:?} {environment:?}").contains("s3cr"));
}

#[test]
fn a_missing_credential_is_named_with_the_command_that_sets_it() {
    let Some(scratch) = Scratch::with_manifest("shows-environment", KEY) else { return };
    let store = CredentialFile::new(scratch.folder.path().join("credentials.json"));
    let error = CredentialEnvironment::resolve(&scratch.skill.manifest, &store).unwrap_err();
    assert_eq!(error.to_string(), "the skill `shows-environment` needs the credential `api-key`");
    assert_eq!(
        error.hint().unwrap(),
        "set it with `grail skills credentials set shows-environment api-key`; the value comes from stdin"
    );
}

#[test]
fn a_skill_sees_its_own_credentials_and_nothing_else_of_the_environment() {
    let Some(mut scratch) = Scratch::with_manifest("shows-environment", KEY) else { return };
    let store = CredentialFile::new(scratch.folder.path().join("credentials.json"));
    store.set("shows-environment", "api-key", &Secret::new(VALUE)).unwrap();
    store.set("shows-environment", "other", &Secret::new("undeclared")).unwrap();
    store.set("mail", "api-key", &Secret::new("of another skill")).unwrap();
    scratch.credentials = CredentialEnvironment::resolve(&scratch.skill.manifest, &store).unwrap();
    let invocation = scratch.invoke(json!({})).unwrap();
    let names = invocation.answer.output["names"].as_array().unwrap();
    let names: Vec<&str> = names.iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "SHOWS_KEY", "TMPDIR"]
    );
    // Nothing that it says is shown with the value in it.
    assert_eq!(invocation.answer.output["key"], "<[redacted]>");
    assert_eq!(invocation.answer.notifications[0].params, json!({"[redacted]": ["[redacted]"]}));
    assert_eq!(invocation.stderr, "the key is [redacted]\n");
}

#[test]
fn an_error_that_quotes_the_skill_does_not_quote_its_credential() {
    let Some(mut scratch) = Scratch::with_manifest("shouts-key", KEY) else { return };
    let store = CredentialFile::new(scratch.folder.path().join("credentials.json"));
    store.set("shouts-key", "api-key", &Secret::new(VALUE)).unwrap();
    scratch.credentials = CredentialEnvironment::resolve(&scratch.skill.manifest, &store).unwrap();
    let problem = scratch.invoke(json!({})).unwrap_err();
    assert_eq!(
        told(&problem).lines().next().unwrap(),
        "the skill `shouts-key` prints what is not JSON: `the key is [redacted]`"
    );
    assert!(!format!("{problem:?}").contains("s3cr"));
}

#[test]
fn a_default_stands_in_and_an_optional_credential_may_be_missing() {
    let more = format!(
        "{KEY}default = \"demo\"\n\n{}required = false\n",
        KEY.replace("api-key", "other").replace("SHOWS_KEY", "OTHER")
    );
    let Some(mut scratch) = Scratch::with_manifest("shows-environment", &more) else { return };
    let store = CredentialFile::new(scratch.folder.path().join("credentials.json"));
    scratch.credentials = CredentialEnvironment::resolve(&scratch.skill.manifest, &store).unwrap();
    let output = scratch.invoke(json!({})).unwrap().answer.output;
    assert_eq!(output["key"], "<demo>");
    assert!(!output["names"].as_array().unwrap().contains(&json!("OTHER")));
}

#[test]
fn secrets_are_found_in_every_form_that_text_gives_them() {
    let redactor =
        Redactor::new(&[Secret::new(VALUE), Secret::new("s3cr\"t-välue-and-more"), Secret::new("abc")]);
    for (text, redacted) in [
        ("a s3cr\"t-välue b", "a [redacted] b"),
        ("a s3cr\"t-välue-and-more b", "a [redacted] b"),
        (r#"{"key": "s3cr\"t-välue"}"#, r#"{"key": "[redacted]"}"#),
        (r#"{"key": "s3cr\"t-v\u00e4lue"}"#, r#"{"key": "[redacted]"}"#),
        // Too short to be told from other words.
        ("abc", "abc"),
    ] {
        assert_eq!(redactor.redact(text), redacted);
    }
}

#[test]
fn variables_that_steer_programs_carry_no_credentials() {
    for name in ["PATH", "LD_PRELOAD", "PYTHONPATH", "UV_INDEX", "Home", "", "A=B", "1A", "A B"] {
        assert!(is_reserved_variable(name), "{name}");
    }
    for name in ["API_KEY", "OPENWEATHER_TOKEN", "_x", "HOMEPAGE"] {
        assert!(!is_reserved_variable(name), "{name}");
    }
}
