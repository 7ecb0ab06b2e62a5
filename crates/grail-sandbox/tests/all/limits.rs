//! Limits hold whatever their values: for random limits, programs that need more than one of them end at that one.

use std::sync::LazyLock;
use std::time::Duration;

use grail_sandbox::{Context, Ending, Limit, Policies, Tool, Toolset};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::support::workers;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

#[derive(Deserialize, JsonSchema)]
struct Echo {
    value: serde_json::Value,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_limits_are_enforced(
        milliseconds in 20_u64..200,
        mebibytes in 4_u64..48,
        kibibytes in 1_u64..64,
        suspensions in 1_u32..60,
        depth in 10_u32..300,
    ) {
        let limits = format!(
            "[random]\nmax-duration = '{milliseconds}ms'\nmax-memory = '{mebibytes}MiB'\nmax-output = '{kibibytes}KiB'\n\
             max-result = '{kibibytes}KiB'\nmax-suspensions = {suspensions}\nmax-recursion = {depth}\n\
             max-source = '{kibibytes}KiB'\n"
        );
        let policy = Policies::from_toml(&toml::from_str(&limits).unwrap()).unwrap().resolve("random").unwrap();
        RUNTIME.block_on(async {
            let echo = Tool::typed("echo", "Gives back what it was given.", |echo: Echo| Ok(echo.value)).unwrap();
            let builder = Context::builder().policy(policy).tools(Toolset::new([echo]).unwrap()).without_type_check();
            let context = builder.build(workers().await).unwrap();
            let bytes = kibibytes << 10;
            let over = [
                (Limit::Duration, "while True:\n    pass".to_owned()),
                (Limit::Memory, "'a' * 100_000_000".to_owned()),
                (Limit::Output, format!("print('a' * {bytes})")),
                (Limit::ResultSize, format!("'a' * ({bytes} + 1)")),
                (Limit::Suspensions, format!("for number in range({suspensions} + 1):\n    echo(number)\n1")),
                (Limit::Recursion, format!("def down(n):\n    return n and down(n - 1)\ndown({depth} + 1)")),
                (Limit::SourceSize, format!("{}1", "# fill\n".repeat(usize::try_from(bytes).unwrap() / 7 + 1))),
            ];
            for (limit, code) in over {
                let outcome = context.execute(&code, json!({})).await;
                let Ending::LimitHit(hit) = &outcome.ending else { panic!("{limit:?}: {:?}", outcome.ending) };
                assert_eq!(hit.limit, limit, "{limits}{:?}", outcome.ending);
                assert!(outcome.printed.text.len() as u64 <= bytes);
                assert!(outcome.usage.suspensions <= suspensions + 1);
                // Twice the limit, and what a loaded machine needs besides.
                assert!(outcome.usage.elapsed <= Duration::from_millis(2 * milliseconds) + Duration::from_secs(2));
            }
            let within = [
                format!("print('a' * ({bytes} - 1))\n1"),
                format!("'a' * {}", bytes / 2),
                format!("for number in range({suspensions} - 1):\n    echo(number)\n1"),
                format!("def down(n):\n    return n and down(n - 1)\ndown({depth} - 5)"),
            ];
            for code in within {
                let outcome = context.execute(&code, json!({})).await;
                assert!(outcome.value().is_some(), "{limits}{code}: {:?}", outcome.ending);
            }
        });
    }
}
