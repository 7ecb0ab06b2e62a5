//! Scripts of a skill, run once: what they print, where they may write, and what ends them.

use std::fs;
use std::time::Duration;

use grail_skills::SkillError;
use grail_skills::runnable::Ending;
use grail_skills::script::{ScriptOutput, ScriptRun, run_script};
use tempfile::TempDir;

use crate::runnable_skill::{settings, skip};

struct Scratch {
    folder: TempDir,
    run: ScriptRun,
}

impl Scratch {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let skill = folder.path().join("skill");
        fs::create_dir_all(skill.join("scripts")).unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        fs::write(skill.join("scripts/do.py"), script).unwrap();
        let run = ScriptRun {
            skill: "skill".to_owned(),
            folder: skill,
            script: "scripts/do.py".into(),
            arguments: Vec::new(),
            directory: folder.path().join("project"),
            writes: false,
            timeout: Duration::from_secs(120),
            max_output_bytes: 1 << 20,
        };
        Self { folder, run }
    }

    /// `None`, and said so, where there is no Python to run it with.
    fn run(&self) -> Option<Result<ScriptOutput, String>> {
        if grail_project::find_interpreters(None).is_empty() {
            skip("there is no Python here to run scripts with");
            return None;
        }
        let told = |error: SkillError| match error.hint() {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        };
        Some(run_script(&self.run, &settings(self.folder.path()).start).map_err(told))
    }
}

#[test]
fn a_script_gets_its_arguments_and_runs_where_it_was_called() {
    let mut scratch = Scratch::new(
        "import os, sys\n\
         print(sys.argv[1:], os.path.basename(os.getcwd()), sys.stdin.read() == '')\n\
         print('a word', file=sys.stderr)\n\
         sys.exit(3)\n",
    );
    scratch.run.arguments = vec!["--since".into(), "v1".into()];
    let Some(result) = scratch.run() else { return };
    let output = result.unwrap();
    assert_eq!(output.stdout, "['--since', 'v1'] project True\n");
    assert_eq!(output.stderr, "a word\n");
    assert_eq!(output.ending, Ending::Code(3));
}

#[test]
fn a_script_writes_where_it_runs_only_if_it_may() {
    let mut scratch = Scratch::new(
        "from pathlib import Path\n\
         print(Path('here.txt').read_text())\n\
         try:\n    Path('new.txt').write_text('new')\n\
         except PermissionError as error:\n    print(type(error).__name__)\n",
    );
    let here = scratch.run.directory.join("here.txt");
    fs::write(here, "to be read").unwrap();
    let Some(result) = scratch.run() else { return };
    let output = result.unwrap();
    if output.fence.gaps().is_empty() {
        assert_eq!(output.stdout, "to be read\nPermissionError\n");
        assert!(!scratch.run.directory.join("new.txt").exists());
    }
    scratch.run.writes = true;
    assert_eq!(scratch.run().unwrap().unwrap().stdout, "to be read\n");
    assert_eq!(fs::read_to_string(scratch.run.directory.join("new.txt")).unwrap(), "new");
}

#[test]
fn a_script_that_does_not_end_is_ended() {
    let mut scratch = Scratch::new("import time\nprint('begun', flush=True)\ntime.sleep(3600)\n");
    scratch.run.timeout = Duration::from_millis(300);
    let Some(result) = scratch.run() else { return };
    assert_eq!(result.unwrap_err(), "the skill `skill` ran longer than 300 ms");
}

#[test]
fn a_script_that_prints_without_end_is_ended() {
    for script in ["while True: print('x' * 1000)\n", "while True: print('x' * 1000, end='')\n"] {
        let Some(result) = Scratch::new(script).run() else { return };
        assert_eq!(result.unwrap_err(), "the skill `skill` printed more than 1 MiB");
    }
}

#[test]
fn only_scripts_of_the_skill_are_run() {
    let mut scratch = Scratch::new("print('hello')\n");
    fs::write(scratch.folder.path().join("project/other.py"), "print('other')\n").unwrap();
    fs::write(scratch.run.folder.join("scripts/do.sh"), "echo hello\n").unwrap();
    let skill = scratch.run.folder.clone();
    let shown = |path: &str| skill.join(path).display().to_string();
    let mut failure = |script: &str| {
        scratch.run.script = script.into();
        scratch.run().map(|result| result.unwrap_err())
    };
    let Some(missing) = failure("scripts/none.py") else { return };
    assert_eq!(
        missing,
        "the skill `skill` has no script `scripts/none.py`\nhint: `grail skills load skill` shows what there is"
    );
    assert_eq!(failure("scripts").unwrap().lines().next(), Some("the skill `skill` has no script `scripts`"));
    assert_eq!(
        failure("../project/other.py").unwrap(),
        format!("{}: the path leaves the folder", shown("../project/other.py"))
    );
    assert_eq!(
        failure("scripts/do.sh").unwrap(),
        format!(
            "{}: only Python scripts can be run\nhint: read it with `grail skills read` and run it yourself",
            shown("scripts/do.sh")
        )
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../../project/other.py", skill.join("scripts/link.py")).unwrap();
        assert_eq!(
            failure("scripts/link.py").unwrap(),
            format!("{}: the path is a link out of the folder", shown("scripts/link.py"))
        );
    }
}

#[test]
fn a_script_with_metadata_gets_what_it_asks_for() {
    let scratch = Scratch::new("# /// script\n# dependencies = [\"rich\"]\n# ///\nimport rich\n");
    let Some(result) = scratch.run() else { return };
    assert_eq!(
        result.unwrap_err(),
        "the skill `skill` needs the packages `rich`, and there is no uv to fetch them\n\
         hint: install uv: https://docs.astral.sh/uv/getting-started/installation/"
    );
}
