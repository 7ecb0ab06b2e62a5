//! The tables as a page of the reference.

use std::fmt::Write;

use super::{builtins, classes, constructs, differences, methods, modules};

/// `docs/reference/python-subset.md`: what the engine cannot run, and what it does differently.
pub fn subset_reference() -> String {
    let mut page = String::from(
        "# The Python the sandbox runs\n\n\
         Generated from the tables of the static check by `just gen`; edits here are lost. Every example is run on the engine by the \
         tests.\n\n\
         Functions, closures, all kinds of arguments, comprehensions, `:=`, f-strings, `try`, `with`, decorators of functions, simple \
         classes, `@dataclass`, `def f[T]`, `async` and `await`, and integers of any size work as in CPython.\n\n\
         ## What is refused\n\n\
         Code with one of these is rejected before it runs, with the place and the rewrite. Where the engine would raise an exception \
         that the code catches by name, it is let through.\n",
    );
    for row in constructs() {
        let _ = write!(
            page,
            "\n### {}\n\n*{}*: {}.\n\n```python\n{}\n```\n\nInstead, {}:\n\n```python\n{}\n```\n",
            row.title,
            row.name,
            row.message.replace("{}", "…"),
            row.example,
            row.rewrite,
            row.rewritten,
        );
    }
    page.push_str("\n## What runs differently\n\nCode with one of these runs, and its outcome carries a note with the place.\n");
    for row in differences::ROWS {
        let _ = write!(
            page,
            "\n### {}\n\n*{}*: {}.\n\n```python\n{}\n```\n\nHere `{}`, in CPython `{}`.\n",
            row.title,
            row.name,
            row.message.replace("{}", "…"),
            row.example,
            row.engine,
            row.cpython,
        );
    }
    page.push_str("\n## Modules\n\n| module | has | has not |\n| --- | --- | --- |\n");
    for module in modules::MODULES {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            module.name,
            code_list(module.names),
            code_list(module.missing)
        );
    }
    page.push_str("\nNames that CPython has and people rarely ask for are left out of the last column.\n\n## Classes without an instance\n\n");
    page.push_str("| class | has |\n| --- | --- |\n");
    for (class, names) in modules::CLASS_ATTRIBUTES {
        let _ = writeln!(
            page,
            "| `{}` | {} |",
            class.trim_start_matches("builtins."),
            code_list(&names.join(" "))
        );
    }
    page.push_str("\n## Methods that are missing\n\n| type | has not |\n| --- | --- |\n");
    for (name, _, missing) in methods::MISSING {
        let _ = writeln!(page, "| `{name}` | {} |", code_list(&missing.join(" ")));
    }
    let missing: Vec<&str> = builtins::MISSING.iter().map(|(name, _)| *name).collect();
    let _ = write!(
        page,
        "\n## Builtins that are missing\n\n{}\n\n## Special methods\n\nCalled: {}.\n\nNot called: {}.\n",
        code_list(&missing.join(" ")),
        code_list(&classes::CALLED.join(" ")),
        code_list(&classes::IGNORED.join(" ")),
    );
    page
}

fn code_list(names: &str) -> String {
    let names: Vec<String> = names.split_whitespace().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
