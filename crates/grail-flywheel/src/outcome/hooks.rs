//! Hooks of git that note what git did, beside the hooks of others.
//!
//! A hook of Grail is a few lines of shell: it reads where `HEAD` is and appends one line to a file among git's data, without starting
//! anything. Starting Grail would cost more than a commit may, and would fail without it; what the notes mean is found out when somebody
//! next looks at events.
//!
//! Shell scripts of others get the lines below their first one, because they may end with `exit` or `exec`. Anything else (another
//! interpreter, a program, a link, a script that is switched off) is moved aside and called. Removing restores every byte. Folders that
//! belong to other managers of hooks are not touched: what to add there is said instead.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::git::path_of;
use super::notes;
use super::repository::Repository;
use crate::error::FlywheelError;

/// The moments that are noted.
pub const HOOKS: [&str; 4] = ["post-commit", "post-merge", "post-checkout", "post-rewrite"];

const BEGIN: &str = "# >>> grail hooks >>>";
const END: &str = "# <<< grail hooks <<<";
const SHEBANG: &str = "#!/bin/sh\n";
/// Where hooks are that were there before and cannot be added to. Their names stay: some of them look at it.
const KEPT_FOLDER: &str = "grail-kept";
/// Longer scripts are moved aside rather than changed.
const MAX_SCRIPT_BYTES: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HooksReport {
    pub folder: PathBuf,
    pub hooks: Vec<HookEntry>,
    /// Whose folder it is, and what to add there, if Grail leaves it alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// Whether the folder is part of the project, so that a change there is one of the project.
    pub is_shared: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookEntry {
    pub hook: &'static str,
    pub state: HookState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookState {
    /// Nothing of Grail's.
    Missing,
    /// A hook of Grail's alone.
    Own,
    /// Lines in a script of somebody else.
    Beside,
    /// A hook of somebody else was moved aside and is called.
    Around,
    /// Lines of another version of Grail.
    Outdated,
}

/// What to add where somebody else manages hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    pub owner: String,
    pub text: String,
}

/// Adds what is missing. Doing it again changes nothing.
pub fn install_hooks(root: &Path) -> Result<HooksReport, FlywheelError> {
    let place = Place::of(root)?;
    if place.owner().is_some() {
        return place.report();
    }
    fs::create_dir_all(&place.folder).map_err(|source| FlywheelError::storage(&place.folder, source))?;
    for hook in HOOKS {
        place.install(hook)?;
    }
    place.report()
}

pub fn hooks_status(root: &Path) -> Result<HooksReport, FlywheelError> {
    Place::of(root)?.report()
}

/// Takes out what was added, and what the hooks noted.
pub fn remove_hooks(root: &Path) -> Result<HooksReport, FlywheelError> {
    let place = Place::of(root)?;
    for hook in HOOKS {
        place.remove(hook)?;
    }
    // Only if nothing else was put there.
    let _ = fs::remove_dir(place.folder.join(KEPT_FOLDER));
    notes::remove(&place.common);
    place.report()
}

/// The lines of a hook. No process is started but where git keeps its references in another way.
pub fn hook_lines(hook: &str) -> String {
    // A checkout of single files moves nothing.
    let condition = if hook == "post-checkout" { "[ \"${3-}\" != 1 ] || {" } else { "{" };
    LINES.replace("CONDITION", condition).replace("HOOK", hook).replace("NOTES", notes::NOTES_FILE)
}

const LINES: &str = r#"# >>> grail hooks >>>
# Notes for Grail what git did: a few milliseconds, and never a failure. `grail hooks remove` takes these lines out.
CONDITION
  grail_git=${GIT_DIR:-.git} grail_head='' grail_branch=''
  grail_common=$grail_git
  if [ -f "$grail_git/HEAD" ]; then
    if [ -f "$grail_git/commondir" ]; then
      IFS= read -r grail_common <"$grail_git/commondir"
      case $grail_common in /*) ;; *) grail_common=$grail_git/$grail_common ;; esac
    fi
    IFS= read -r grail_branch <"$grail_git/HEAD"
    case $grail_branch in
      'ref: '*)
        grail_branch=${grail_branch#ref: }
        [ -f "$grail_common/$grail_branch" ] && read -r grail_head <"$grail_common/$grail_branch" ;;
      *) grail_head=$grail_branch grail_branch=HEAD ;;
    esac
  fi
  if [ -z "$grail_head" ]; then
    { IFS= read -r grail_common && read -r grail_head && read -r grail_branch; } <<GRAIL
$(git rev-parse --git-common-dir HEAD --symbolic-full-name HEAD)
GRAIL
  fi
  [ -z "$grail_head" ] || printf '1\t%s\t%s\t%s\n' HOOK "$grail_head" "$grail_branch" >>"$grail_common/NOTES"
} </dev/null >/dev/null 2>&1 || :
# <<< grail hooks <<<
"#;

/// The folder in which git looks for hooks.
struct Place {
    folder: PathBuf,
    common: PathBuf,
    top: Option<PathBuf>,
}

impl Place {
    fn of(root: &Path) -> Result<Self, FlywheelError> {
        let repository = Repository::of(root).ok_or_else(|| {
            FlywheelError::refused(
                "there is no git repository here, or no git",
                "run `git init` first; if git says that somebody else owns the folder, see `safe.directory`",
            )
        })?;
        let folder = repository.git.hooks_path().map(PathBuf::from).ok_or_else(|| {
            FlywheelError::refused("git does not say where its hooks are", "git 2.31 or newer is needed")
        })?;
        let top = repository.git.ask(&["rev-parse", "--show-toplevel"], 64 * 1024);
        let top = top.map(|answer| PathBuf::from(path_of(&answer))).filter(|top| top.is_absolute());
        Ok(Self { folder, common: repository.common, top })
    }

    fn path(&self, hook: &str) -> PathBuf {
        self.folder.join(hook)
    }

    fn kept(&self, hook: &str) -> PathBuf {
        self.folder.join(KEPT_FOLDER).join(hook)
    }

    fn is_inside(&self, outer: &Path) -> bool {
        // Links may lead there by two ways.
        let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = match self.folder.canonicalize() {
            Ok(folder) => folder,
            Err(_) => self.folder.parent().map(resolved).unwrap_or_else(|| self.folder.clone()),
        };
        folder.starts_with(resolved(outer))
    }

    fn report(&self) -> Result<HooksReport, FlywheelError> {
        let entry = |hook: &'static str| HookEntry { hook, state: self.state(hook) };
        let is_shared =
            !self.is_inside(&self.common) && self.top.as_ref().is_some_and(|top| self.is_inside(top));
        let advice = self.owner();
        Ok(HooksReport { folder: self.folder.clone(), hooks: HOOKS.map(entry).to_vec(), advice, is_shared })
    }

    /// Whoever writes this folder anew whenever they like, or shares it among projects.
    fn owner(&self) -> Option<Advice> {
        let lines = || HOOKS.map(|hook| (hook, hook_lines(hook)));
        if self.folder.components().any(|part| part.as_os_str() == ".husky") {
            let text = lines().map(|(hook, lines)| format!("in `.husky/{hook}`:\n\n{lines}")).join("\n");
            return Some(Advice { owner: "husky".to_owned(), text });
        }
        let is_lefthook =
            |hook: &&str| read_script(&self.path(hook)).is_some_and(|text| text.contains("lefthook"));
        if HOOKS.iter().any(is_lefthook) {
            let indented =
                |lines: String| lines.lines().map(|line| format!("        {line}\n")).collect::<String>();
            let text = lines()
                .map(|(hook, lines)| {
                    format!("{hook}:\n  commands:\n    grail:\n      run: |\n{}", indented(lines))
                })
                .join("");
            return Some(Advice {
                owner: "lefthook".to_owned(),
                text: format!("in `lefthook.yml`:\n\n{text}"),
            });
        }
        let is_ours =
            self.is_inside(&self.common) || self.top.as_ref().is_some_and(|top| self.is_inside(top));
        if is_ours {
            return None;
        }
        let folder = self.folder.display();
        let text = lines().map(|(hook, lines)| format!("in `{folder}/{hook}`:\n\n{lines}")).join("\n");
        Some(Advice { owner: "`core.hooksPath` outside of this repository".to_owned(), text })
    }

    fn state(&self, hook: &str) -> HookState {
        let Some(text) = read_script(&self.path(hook)) else { return HookState::Missing };
        match split(&text) {
            None => HookState::Missing,
            Some((_, block, _)) if block != hook_lines(hook) => HookState::Outdated,
            Some((SHEBANG, _, "")) => HookState::Own,
            Some((SHEBANG, _, after)) if after == call_of_kept(hook) => HookState::Around,
            Some(_) => HookState::Beside,
        }
    }

    fn install(&self, hook: &str) -> Result<(), FlywheelError> {
        let path = self.path(hook);
        match self.state(hook) {
            HookState::Own | HookState::Beside | HookState::Around => return Ok(()),
            HookState::Outdated => self.remove(hook)?,
            HookState::Missing => {}
        }
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            return self.write(hook, &(SHEBANG.to_owned() + &hook_lines(hook)), None);
        };
        let script = read_script(&path).filter(|_| metadata.is_file() && is_executable(&metadata));
        if let Some((first, rest)) = script.as_deref().and_then(shell_script) {
            let text = format!("{first}{}{rest}", hook_lines(hook));
            return self.write(hook, &text, Some(metadata.permissions()));
        }
        let kept = self.kept(hook);
        if fs::symlink_metadata(&kept).is_ok() {
            return Err(FlywheelError::refused(
                format!("`{}` is in the way", kept.display()),
                format!("it is what `{hook}` once was; move it back or delete it"),
            ));
        }
        move_hook(&path, &kept).map_err(|source| FlywheelError::storage(&path, source))?;
        let text = SHEBANG.to_owned() + &hook_lines(hook) + &call_of_kept(hook);
        self.write(hook, &text, None).inspect_err(|_| {
            // Nothing is lost: the hook is put back.
            let _ = move_hook(&kept, &path);
        })
    }

    fn remove(&self, hook: &str) -> Result<(), FlywheelError> {
        let path = self.path(hook);
        let storage = |source| FlywheelError::storage(&path, source);
        let Some(text) = read_script(&path) else { return Ok(()) };
        let Some((before, _, after)) = split(&text) else { return Ok(()) };
        if before == SHEBANG && after.is_empty() {
            return fs::remove_file(&path).map_err(storage);
        }
        if before == SHEBANG && after == call_of_kept(hook) {
            return match fs::symlink_metadata(self.kept(hook)) {
                // Over the hook of ours, in one step.
                Ok(_) => move_hook(&self.kept(hook), &path).map_err(storage),
                Err(_) => fs::remove_file(&path).map_err(storage),
            };
        }
        let permissions = fs::metadata(&path).map(|metadata| metadata.permissions()).ok();
        self.write(hook, &format!("{before}{after}"), permissions)
    }

    /// Replaces the hook in one step: git may want to run it at any time.
    fn write(
        &self,
        hook: &str,
        text: &str,
        permissions: Option<fs::Permissions>,
    ) -> Result<(), FlywheelError> {
        let storage = |source| FlywheelError::storage(&self.path(hook), source);
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).map_err(storage)?;
        file.write_all(text.as_bytes()).map_err(storage)?;
        if let Some(permissions) = permissions.or_else(executable) {
            file.as_file().set_permissions(permissions).map_err(storage)?;
        }
        file.persist(self.path(hook)).map_err(|problem| storage(problem.error)).map(drop)
    }
}

fn call_of_kept(hook: &str) -> String {
    format!(
        "# The hook that was here before `grail hooks install`.\n\
         grail_kept=${{0%/*}}/{KEPT_FOLDER}/{hook}\n\
         if [ -x \"$grail_kept\" ]; then exec \"$grail_kept\" \"$@\"; fi\n"
    )
}

/// A script before, in and after Grail's lines.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find(BEGIN).filter(|start| *start == 0 || text[..*start].ends_with('\n'))?;
    let end = start + text[start..].find(END)? + END.len();
    let end = if text[end..].starts_with('\n') { end + 1 } else { end };
    Some((&text[..start], &text[start..end], &text[end..]))
}

/// The first line of a script of the shell, and the rest.
fn shell_script(text: &str) -> Option<(&str, &str)> {
    let end = text.find('\n')? + 1;
    let (first, rest) = text.split_at(end);
    let mut words = first.strip_prefix("#!")?.split_whitespace();
    let mut program = words.next()?;
    if program.ends_with("/env") {
        program = words.find(|word| !word.starts_with('-'))?;
    }
    let name = program.rsplit('/').next()?;
    let is_shell = matches!(name, "sh" | "bash" | "dash" | "ksh" | "zsh" | "ash");
    (is_shell && !text.contains('\r')).then_some((first, rest))
}

/// A file that is text and not too long.
fn read_script(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() <= MAX_SCRIPT_BYTES).then(|| fs::read_to_string(path).ok())?
}

/// Moves a hook between its place and the folder below it. A link that is meant from where it lies goes on leading to the same place.
fn move_hook(from: &Path, to: &Path) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    #[cfg(unix)]
    if let Ok(target) = fs::read_link(from)
        && target.is_relative()
    {
        let is_kept = to.parent().and_then(Path::file_name).is_some_and(|name| name == KEPT_FOLDER);
        let target = match is_kept {
            true => Path::new("..").join(target),
            false => target.strip_prefix("..").map(Path::to_owned).unwrap_or(target),
        };
        if fs::symlink_metadata(to).is_ok() {
            fs::remove_file(to)?;
        }
        std::os::unix::fs::symlink(target, to)?;
        return fs::remove_file(from);
    }
    fs::rename(from, to)
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
fn executable() -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(fs::Permissions::from_mode(0o755))
}

/// Git asks the first line there, not the permissions.
#[cfg(not(unix))]
fn executable() -> Option<fs::Permissions> {
    None
}
