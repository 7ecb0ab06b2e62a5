//! The keyring of the operating system: Keychain, Credential Manager, or the Secret Service of a desktop.

use keyring::v1::{Entry, Error};

use crate::credentials::{Keyring, Secret};

const SERVICE: &str = "grail-skills";

struct SystemKeyring;

/// The system's keyring, if it can be reached.
pub fn system_keyring() -> Option<Box<dyn Keyring>> {
    Entry::store_status().is_ok().then(|| Box::new(SystemKeyring) as Box<dyn Keyring>)
}

impl Keyring for SystemKeyring {
    fn get(&self, account: &str) -> Result<Option<Secret>, String> {
        match entry(account)?.get_password() {
            Ok(value) => Ok(Some(Secret::new(value))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(reason(&error)),
        }
    }

    fn set(&self, account: &str, secret: &Secret) -> Result<(), String> {
        entry(account)?.set_password(secret.expose()).map_err(|error| reason(&error))
    }

    fn remove(&self, account: &str) -> Result<(), String> {
        match entry(account)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(reason(&error)),
        }
    }
}

fn entry(account: &str) -> Result<Entry, String> {
    Entry::new(SERVICE, account).map_err(|error| reason(&error))
}

/// An error that carries the bytes of a value says only what kind it is.
fn reason(error: &Error) -> String {
    match error {
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "the value is not text".to_owned(),
        error => error.to_string(),
    }
}
