//! McNemar's test: of the prompts that only one arm passed, are there more on one side than chance would put there?

use serde::{Deserialize, Serialize};

use super::ln_factorial;

/// Both sided, exact: under chance, the won ones among those that differ are binomial with one half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct McNemar {
    /// Passed after and not before.
    pub won: u64,
    pub lost: u64,
    /// Never too sure, and a little slow.
    pub exact: f64,
    /// Half of what was seen counted as chance: nearer to what it says, and now and then a little too sure.
    pub mid_p: f64,
}

pub fn mcnemar(won: u64, lost: u64) -> McNemar {
    let (few, all) = (won.min(lost), won + lost);
    if all == 0 {
        return McNemar { won, lost, exact: 1.0, mid_p: 1.0 };
    }
    let ln_all = ln_factorial(all) - all as f64 * std::f64::consts::LN_2;
    let mass = |count: u64| (ln_all - ln_factorial(count) - ln_factorial(all - count)).exp();
    let tail: f64 = (0..=few).map(mass).sum();
    let exact = (2.0 * tail).min(1.0);
    let mid_p = if won == lost { 1.0 - 0.5 * mass(few) } else { exact - mass(few) };
    McNemar { won, lost, exact, mid_p: mid_p.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, known: f64) -> bool {
        (found - known).abs() <= known * 1e-9
    }

    #[test]
    fn p_values_are_those_of_the_binomial_distribution() {
        // Exact: 2 · sum(C(n, k), k = 0..b) / 2^n; mid-p: less C(n, b) / 2^n (Fagerland, Lydersen and Laake 2013).
        // 5 and 0: 2 / 32 and 1 / 32.
        let test = mcnemar(5, 0);
        assert!(near(test.exact, 0.0625) && near(test.mid_p, 0.031_25));
        // 9 and 1 of 10: 2 · 11 / 1024, less 10 / 1024.
        let test = mcnemar(1, 9);
        assert!(near(test.exact, 22.0 / 1024.0) && near(test.mid_p, 12.0 / 1024.0));
        // 3 and 3 of 6: 1 - ½ · 20 / 64.
        let test = mcnemar(3, 3);
        assert!(near(test.exact, 1.0) && near(test.mid_p, 1.0 - 10.0 / 64.0));
        let test = mcnemar(0, 0);
        assert_eq!((test.exact, test.mid_p), (1.0, 1.0));
    }

    #[test]
    fn p_values_are_the_published_ones() {
        // Airway hyper-responsiveness before and after stem cell transplantation, Fagerland, Lydersen and Laake (2013), table 1: 1 and 7.
        // They tell exact 0.070 and mid-p 0.039.
        let test = mcnemar(1, 7);
        assert_eq!((test.exact * 1e3).round(), 70.0);
        assert_eq!((test.mid_p * 1e3).round(), 39.0);
    }
}
