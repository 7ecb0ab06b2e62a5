//! `grail check` for machines, in numbers, from memory, and with other tools.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::check::project;
use crate::scratch::{Scratch, render};

#[test]
fn github_annotations_stay_one_line_whatever_the_text_holds() {
    let scratch = project(&[("app/a,b.py", "print('100%\\n')\nprint(\n    1\n)\n")]);
    insta::assert_snapshot!(scratch.run(&["check", "--format", "github"]), @r"
    ::warning file=app/a%2Cb.py,line=1,endLine=1,col=1,endColumn=16,title=grail (no-print)::`'100%25\n'` is printed%0Athe log tells when and where
    ::warning file=app/a%2Cb.py,line=2,endLine=4,title=grail (no-print)::`1` is printed%0Athe log tells when and where
    exit 1
    ");
}

#[test]
fn sarif_has_rules_regions_and_fixes() {
    let scratch = project(&[("app/tool.py", "x = 'é'; print(x)\n")]);
    let root = scratch.root().canonicalize().unwrap();
    let document = scratch.run(&["check", "--format", "sarif"]).replace(root.to_str().unwrap(), "/project");
    insta::assert_snapshot!(document, @r#"
    {
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
      "version": "2.1.0",
      "runs": [
        {
          "tool": {
            "driver": {
              "name": "grail",
              "version": "0.1.0",
              "rules": [
                {
                  "id": "no-print",
                  "shortDescription": {
                    "text": "Nothing is printed"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  },
                  "properties": {
                    "pack": "mine"
                  }
                }
              ]
            }
          },
          "columnKind": "unicodeCodePoints",
          "originalUriBaseIds": {
            "SRCROOT": {
              "uri": "file:///project/"
            }
          },
          "invocations": [
            {
              "executionSuccessful": true,
              "toolExecutionNotifications": []
            }
          ],
          "results": [
            {
              "ruleId": "no-print",
              "level": "warning",
              "message": {
                "text": "`x` is printed\nthe log tells when and where"
              },
              "properties": {
                "layer": "rules"
              },
              "ruleIndex": 0,
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "app/tool.py",
                      "uriBaseId": "SRCROOT"
                    },
                    "region": {
                      "startLine": 1,
                      "startColumn": 10,
                      "endLine": 1,
                      "endColumn": 18
                    }
                  }
                }
              ],
              "fixes": [
                {
                  "description": {
                    "text": "Log it"
                  },
                  "artifactChanges": [
                    {
                      "artifactLocation": {
                        "uri": "app/tool.py",
                        "uriBaseId": "SRCROOT"
                      },
                      "replacements": [
                        {
                          "deletedRegion": {
                            "startLine": 1,
                            "startColumn": 1,
                            "endLine": 1,
                            "endColumn": 1
                          },
                          "insertedContent": {
                            "text": "from app import log\n\n"
                          }
                        },
                        {
                          "deletedRegion": {
                            "startLine": 1,
                            "startColumn": 10,
                            "endLine": 1,
                            "endColumn": 18
                          },
                          "insertedContent": {
                            "text": "log.info(x)"
                          }
                        }
                      ]
                    }
                  ]
                }
              ]
            }
          ]
        }
      ]
    }
    exit 1
    "#);
}

#[test]
fn statistics_count_by_rule() {
    let scratch = project(&[("app/tool.py", "print(1)\nprint(2)\n"), ("app/views.py", "def index(): ...\n")]);
    insta::assert_snapshot!(scratch.run(&["check", "--statistics"]), @"
    2  no-print        warning  2 with a fix
    1  view-decorator  error    1 with a fix
    ! found 1 error, 2 warnings in 2 files; `--fix` fixes 1; `--unsafe-fixes` allows 2 more
    exit 1
    ");
    let json = scratch.run(&["check", "--statistics", "--format", "json"]);
    let statistics = json.split_once("\"statistics\": ").unwrap().1;
    insta::assert_snapshot!(statistics, @r#"
    [
        {
          "rule": "no-print",
          "layer": "rules",
          "severity": "warning",
          "count": 2,
          "fixable": 2
        },
        {
          "rule": "view-decorator",
          "layer": "rules",
          "severity": "error",
          "count": 1,
          "fixable": 1
        }
      ],
      "errors": []
    }
    exit 1
    "#);
}

#[test]
fn a_missing_tool_is_said_once() {
    let scratch = project(&[("app/tool.py", "x = 1\n"), ("app/other.py", "y = 1\n")]);
    let run = |arguments: &[&str]| render(&scratch.command(arguments).env("PATH", "").output().unwrap());
    insta::assert_snapshot!(run(&["check", "--layer", "lint", "--layer", "types"]), @"
    ! warning: lint: `ruff` is not installed; this layer was left out
    ! hint: install it with `uv add --dev ruff` or `pip install ruff`
    ! warning: types: `ty` is not installed; this layer was left out
    ! hint: install it with `uv add --dev ty` or `pip install ty`
    ! nothing found in 2 files
    exit 0
    ");
    insta::assert_snapshot!(run(&["check", "--layer", "lint", "--format", "json"]), @r#"
    {
      "diagnostics": [],
      "layers": [
        {
          "layer": "lint",
          "status": "unavailable",
          "tool": "ruff",
          "hint": "install it with `uv add --dev ruff` or `pip install ruff`"
        }
      ],
      "errors": []
    }
    ! warning: lint: `ruff` is not installed; this layer was left out
    ! hint: install it with `uv add --dev ruff` or `pip install ruff`
    exit 0
    "#);
}

#[test]
fn a_target_that_is_no_version_is_refused() {
    let scratch = project(&[("app/tool.py", "x = 1\n")]);
    insta::assert_snapshot!(scratch.run(&["check", "--target", "tdom"]), @"
    ! error: `tdom` is not a library with a version: write it as `tdom=0.1.20`
    ! hint: write `--target tdom=0.1.20`
    exit 2
    ");
}

fn cache_file(scratch: &Scratch) -> std::path::PathBuf {
    let folder = scratch.path(".grail/cache/check");
    let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|extension| extension == "json")).unwrap()
}

#[test]
fn what_was_found_is_remembered_until_the_file_or_the_rules_change() {
    let scratch = project(&[("app/tool.py", "print(1)\n")]);
    let check = |arguments: &[&str]| {
        let output = scratch.run(&[&["check", "--format", "github"], arguments].concat());
        output.lines().next().unwrap().rsplit("::").next().unwrap().to_owned()
    };
    assert_eq!(check(&[]), "`1` is printed%0Athe log tells when and where");
    let cache = cache_file(&scratch);
    let text = std::fs::read_to_string(&cache).unwrap();
    std::fs::write(&cache, text.replace("`1` is printed", "remembered")).unwrap();
    assert_eq!(check(&[]), "remembered%0Athe log tells when and where");
    assert_eq!(check(&["--no-cache"]), "`1` is printed%0Athe log tells when and where");
    // Other rules have a memory of their own.
    assert_eq!(check(&["--select", "no-print"]), "`1` is printed%0Athe log tells when and where");
    std::fs::write(scratch.path("app/tool.py"), "print(2)\n").unwrap();
    assert_eq!(check(&[]), "`2` is printed%0Athe log tells when and where");
    // A memory that cannot be read is none, and is made anew.
    std::fs::write(&cache, "{").unwrap();
    assert_eq!(check(&[]), "`2` is printed%0Athe log tells when and where");
    assert!(std::fs::read_to_string(&cache).unwrap().contains("`2` is printed"));
    assert_eq!(scratch.read(".grail/cache/check/.gitignore"), "*\n");
}

#[test]
fn rules_across_files_see_what_is_remembered_of_files_that_did_not_change() {
    let wiring = "from app.mail import MailService\n\n\ndef register(registry):\n    registry.register_value(MailService, MailService())\n";
    let scratch = project(&[
        ("app/mail.py", "class MailService: ...\n\n\nclass ClockService: ...\n"),
        ("app/wiring.py", wiring),
    ]);
    let check = || {
        let output = scratch.run(&["check", "--select", "service-registered", "--format", "github"]);
        let finding = output.lines().next().unwrap_or_default();
        let line = finding.split("line=").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default();
        format!("{line}: {}", finding.rsplit("::").next().unwrap_or_default())
    };
    assert_eq!(check(), "4: nothing registers `ClockService`");
    assert_eq!(check(), "4: nothing registers `ClockService`");
    // As long as no file changes, what was found stands.
    let cache = cache_file(&scratch);
    let text = std::fs::read_to_string(&cache).unwrap();
    std::fs::write(&cache, text.replace("nothing registers `ClockService`", "remembered")).unwrap();
    assert_eq!(check(), "4: remembered");
    // When one does, the others are as they are remembered: another name in the memory is another name in the finding.
    let index = cache.with_extension("index");
    let text = std::fs::read_to_string(&index).unwrap();
    std::fs::write(&index, text.replace("app.mail.ClockService", "app.mail.OtherService")).unwrap();
    std::fs::write(scratch.path("app/wiring.py"), format!("{wiring}# Later more.\n")).unwrap();
    assert_eq!(check(), "4: nothing registers `OtherService`");
    // An index that cannot be read is made anew.
    std::fs::write(&index, "{").unwrap();
    // Only the wiring changes, and with it what is wrong with the other file.
    std::fs::write(scratch.path("app/wiring.py"), wiring.replace("MailService", "ClockService")).unwrap();
    assert_eq!(check(), "1: nothing registers `MailService`");
}

#[test]
fn a_file_that_looks_untouched_is_not_read() {
    let scratch = project(&[("app/tool.py", "print(1)\n")]);
    let path = scratch.path("app/tool.py");
    let old = SystemTime::now() - Duration::from_secs(3600);
    let set_time = || File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    set_time();
    assert!(scratch.run(&["check"]).contains("`1` is printed"));
    std::fs::write(&path, "print(2)\n").unwrap();
    set_time();
    assert!(scratch.run(&["check"]).contains("`1` is printed"));
    std::fs::write(&path, "print(23)\n").unwrap();
    set_time();
    assert!(scratch.run(&["check"]).contains("`23` is printed"));
}

#[test]
fn watching_checks_again_when_a_file_changes() {
    let scratch = project(&[("app/tool.py", "print(1)\n")]);
    let mut command = scratch.command(&["check", "--watch", "--format", "github"]);
    let mut watcher = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap().rsplit("::").next().unwrap().to_owned();
    assert_eq!(next(), "`1` is printed%0Athe log tells when and where");
    std::fs::write(scratch.path("app/tool.py"), "print(23)\n").unwrap();
    assert_eq!(next(), "`23` is printed%0Athe log tells when and where");
    std::fs::write(scratch.path("grail.toml"), "[check.severity]\nno-print = \"info\"\n").unwrap();
    assert_eq!(next(), "`23` is printed%0Athe log tells when and where");
    watcher.kill().unwrap();
    watcher.wait().unwrap();
}

#[test]
fn rules_in_python_take_part() {
    let rule = "---\nid: short-names\n---\n\n# Names are whole words\n\n## Bad\n\n```python\ndef f(): ...  # error: `f` is no word\n```\n\n\
                ## Good\n\n```python\ndef find(): ...\n```\n";
    let code = r#"
def check(tree):
    functions = findall(tree, {"type": "FunctionDef"})
    short = [function["name"] for function in functions if len(code_of(function["name"])) == 1]
    return [{"node": name, "message": "`" + code_of(name) + "` is no word"} for name in short]
"#;
    let scratch = project(&[
        (".agents/skills/mine/rules/short-names.md", rule),
        (".agents/skills/mine/rules/short-names.py", code),
        ("app/tool.py", "def f(): ...\n"),
    ]);
    insta::assert_snapshot!(scratch.run(&["rules", "test", "short-names"]), @"
    pass  mine/short-names  2 examples
    ! 1 rule with 2 examples: all pass
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["check"]), @"
    error[short-names]: `f` is no word
     --> app/tool.py:1:5
      |
    1 | def f(): ...
      |     ^
      |
      = why: Names are whole words

    ! found 1 error in 1 file
    exit 1
    ");
}
