//! `grail skills generate` and `grail skills new-rule`: from a sentence to a skill, and to a rule.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::approvals::mask_ids;
use crate::scratch::{Scratch, has_python};

fn json(scratch: &Scratch, arguments: &[&str]) -> Value {
    let output = scratch.command(&[arguments, &["--format", "json"]].concat()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_is_shown_is_what_is_confirmed_later() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let seen = scratch.run(&["skills", "generate", "send email via SendGrid"]);
    let (start, _) = seen.split_once("# /// script").unwrap();
    insta::assert_snapshot!(start, @r#"
    send-email-via-sendgrid 0.1.0 (by template)
      send email via SendGrid

    ── manifest.toml
    id = "send-email-via-sendgrid"
    name = "Send email via sendgrid"
    version = "0.1.0"
    description = "send email via SendGrid"
    entry_file = "skill.py"

    [capabilities]
    network = true

    [[credentials]]
    name = "api-key"
    env_var = "SENDGRID_API_KEY"
    description = "Key for SendGrid"
    required = true

    ── skill.py
    "#);
    let (_, end) = seen.split_once("serve(sys.stdin.buffer, sys.stdout)").unwrap();
    insta::assert_snapshot!(end, @"


      network: opens network connections
      env:SENDGRID_API_KEY: reads this environment variable
      credential: api-key as SENDGRID_API_KEY: Key for SendGrid
      it was started behind the fence, greeted, and is well
      note: made from a template: it sends requests to SendGrid; what is in them comes with the input
    ! nothing is installed yet: `grail skills generate --confirm send-email-via-sendgrid` installs it, byte for byte
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "generate", "--confirm", "send-email-via-sendgrid"]), @"
    ! send-email-via-sendgrid 0.1.0 is active: `grail skills invoke send-email-via-sendgrid --input '…'`
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "generate", "--confirm", "send-email-via-sendgrid"]), @"
    ! error: the proposal `send-email-via-sendgrid` is installed, not waiting
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "status"]), @"
    send-email-via-sendgrid 0.1.0 (project): active, just now
      health: not checked since then
      capabilities: network, env:SENDGRID_API_KEY
    ! 1 skill installed
    exit 0
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "generate", "--confirm", "nobody"]), @r#"
    ! error: no skill `nobody` was generated here
    ! hint: `grail skills generate "…"` makes one
    exit 2
    "#);
}

#[test]
fn json_has_every_byte_and_what_became_of_it() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let proposed = json(&scratch, &["skills", "generate", "convert csv to json"]);
    assert_eq!(proposed["outcome"], "proposed");
    assert_eq!(proposed["files"]["skill.py"], proposed["script_source"]);
    let rejected = scratch.run(&["skills", "generate", "--reject", "convert-csv-to-json"]);
    assert_eq!(rejected, "! rejected; nothing was installed\nexit 0\n");
    let installed = json(&scratch, &["skills", "generate", "convert csv to json", "--yes"]);
    assert_eq!(installed["installed"]["state"], "active");
    let existing = json(&scratch, &["skills", "generate", "convert csv to json"]);
    assert_eq!(existing["outcome"], "existing-match");
    assert_eq!(existing["skill_id"], "convert-csv-to-json");
}

#[test]
fn bad_intents_and_models_are_said_so() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    insta::assert_snapshot!(scratch.run(&["skills", "generate", " \"\"\" "]), @r#"
    ! error: the intent says nothing
    ! hint: say what it is in a sentence: `grail generate "a user card component with name and email"`
    exit 2
    "#);
    insta::assert_snapshot!(scratch.run(&["skills", "generate", "x", "--model", "nobody"]), @"
    ! error: there is no model `nobody`
    ! hint: there are `template`, `replay:FILE`, `local:PATH`, `phase:ID`, `smollm2-135m`; `[models.<name>]` in `grail.toml` adds one
    exit 2
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "generate"]), @"
    ! error: the following required arguments were not provided:
    !   <INTENT>
    !
    ! Usage: grail skills generate <INTENT>
    !
    ! For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn a_rule_waits_for_approval_and_is_then_in_force() {
    let scratch =
        Scratch::new(&[("grail.toml", ""), ("shop/cart.py", "def total(prices):\n    return sum(prices)\n")]);
    let proposed =
        mask_ids(&scratch.run(&["skills", "new-rule", "functions must have docstrings", "--skill", "shop"]));
    insta::assert_snapshot!(proposed, @r#"
    --- /dev/null
    +++ b/.agents/skills/shop/SKILL.md
    @@ -0,0 +1,8 @@
    +---
    +name: shop
    +description: Rules of this project that were written down as they came up. Use when writing or changing its Python code.
    +---
    +
    +# shop
    +
    +The rules are in `rules/`, each with why it holds and examples. `grail check` finds what breaks them.
    --- /dev/null
    +++ b/.agents/skills/shop/rules/functions-docstrings.md
    @@ -0,0 +1,29 @@
    +---
    +id: functions-docstrings
    +severity: error
    +---
    +
    +# Functions must have docstrings
    +
    +This is how this project is written. Say here why, for whoever meets the rule.
    +
    +```yaml rule
    +match: {type: FunctionDef, not: {predicate: is_nested}}
    +require: {body: [{type: Expr, value: {predicate: is_docstring}}, "$$$"]}
    +message: "functions must have docstrings"
    +```
    +
    +## Bad
    +
    +```python app/orders.py
    +def orders():  # error: functions must have docstrings
    +    return []
    +```
    +
    +## Good
    +
    +```python app/orders.py
    +def orders():
    +    """What it is for."""
    +    return []
    +```
    ! the rule `functions-docstrings` of the skill `shop`: its 2 examples hold
    ! nothing is written yet: `grail proposals approve ID` writes it, byte for byte
    exit 0
    "#);
    assert!(!scratch.path(".agents").exists());
    assert_eq!(scratch.run(&["check"]).lines().last(), Some("exit 0"));
    scratch.run(&["proposals", "approve"]);
    insta::assert_snapshot!(scratch.run(&["check"]), @"
    error[functions-docstrings]: functions must have docstrings
     --> shop/cart.py:1:5
      |
    1 | def total(prices):
      |     ^^^^^
      |
      = why: Functions must have docstrings

    ! found 1 error in 1 file
    exit 1
    ");
    insta::assert_snapshot!(scratch.run(&["skills", "validate"]), @"
    ! 1 skill: 0 errors, 0 warnings
    exit 0
    ");
}

#[test]
fn an_answer_that_never_comes_is_later() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    let mut child = scratch
        .command(&["skills", "new-rule", "nothing must import pickle"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A pipe is no terminal: nobody is asked, whatever it says.
    child.stdin.take().unwrap().write_all(b"y\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("nothing is written yet"));
    assert!(!scratch.path(".agents").exists());
}
