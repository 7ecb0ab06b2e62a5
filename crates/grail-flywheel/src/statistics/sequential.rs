//! A paired test that may be looked at after every prompt and stopped whenever somebody likes, without being too sure.
//!
//! Testing by betting (Waudby-Smith and Ramdas, 2024): whoever bets against "there is no difference" and may not lose more than the stake
//! cannot, if it is true, ever become rich: with a chance of at most 1 in 20 is there a moment at which the stake has become twenty times as
//! much (Ville's inequality). The bets are a mixture of fixed ones, on both sides, so nothing has to be chosen. The values are the differences
//! of prompts, the mean over their seeds, between -1 and 1; all differences that were not bet away yet are the confidence sequence.

use serde::{Deserialize, Serialize};

use super::{Interval, ln_factorial};

/// The shares of the stake that are bet, evenly mixed.
const BETS: [f64; 12] = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// How finely differences are looked at.
const STEPS: i32 = 400;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    #[default]
    Undecided,
    Better,
    Worse,
}

/// What is known after so many prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequential {
    /// Stays once it is made.
    pub decision: Decision,
    /// After how many prompts it was made.
    pub decided_after: Option<usize>,
    /// How many prompts there were.
    pub prompts: usize,
    /// What a stake of 1 against "there is no difference" has become.
    pub e_value: f64,
    /// All differences that are still possible; valid at every moment.
    pub interval: Interval,
}

/// Told one prompt after the other.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    /// The chance of being wrong at any time.
    alpha: f64,
    differences: Vec<f64>,
    wealth: Wealth,
    decided: Option<(Decision, usize)>,
}

impl SequentialTest {
    pub fn new(confidence: f64) -> Self {
        Self {
            alpha: (1.0 - confidence).clamp(1e-9, 1.0),
            differences: Vec::new(),
            wealth: Wealth::against(0.0),
            decided: None,
        }
    }

    /// One more prompt: the mean over its seeds of `after - before`, between -1 and 1.
    pub fn push(&mut self, difference: f64) -> Decision {
        let difference = difference.clamp(-1.0, 1.0);
        self.differences.push(difference);
        self.wealth.bet(difference);
        if self.decided.is_none() && self.wealth.total() >= 1.0 / self.alpha {
            let is_better = self.wealth.above() > self.wealth.below();
            let decision = if is_better { Decision::Better } else { Decision::Worse };
            self.decided = Some((decision, self.differences.len()));
        }
        self.decision()
    }

    pub fn decision(&self) -> Decision {
        self.decided.map_or(Decision::Undecided, |(decision, _)| decision)
    }

    pub fn verdict(&self) -> Sequential {
        Sequential {
            decision: self.decision(),
            decided_after: self.decided.map(|(_, after)| after),
            prompts: self.differences.len(),
            e_value: self.wealth.total(),
            interval: self.interval(),
        }
    }

    fn interval(&self) -> Interval {
        let step = |number: i32| f64::from(number) * 2.0 / f64::from(STEPS) - 1.0;
        let is_possible = |number: &i32| {
            let mut wealth = Wealth::against(step(*number));
            self.differences.iter().for_each(|difference| wealth.bet(*difference));
            wealth.total() < 1.0 / self.alpha
        };
        // One step outwards on both sides: what lies between two steps is not looked at.
        let low = (0..=STEPS).find(is_possible).map_or(0, |number| number - 1).max(0);
        let high = (0..=STEPS).rev().find(is_possible).map_or(STEPS, |number| number + 1).min(STEPS);
        Interval { low: step(low), high: step(high) }
    }
}

/// Stakes against one mean, as logarithms: bets that the truth is above, and that it is below.
#[derive(Clone, Debug)]
struct Wealth {
    mean: f64,
    above: [f64; BETS.len()],
    below: [f64; BETS.len()],
}

impl Wealth {
    fn against(mean: f64) -> Self {
        Self { mean, above: [0.0; BETS.len()], below: [0.0; BETS.len()] }
    }

    fn bet(&mut self, difference: f64) {
        // The most that can be lost is the whole bet: values are at least -1 and at most 1.
        let (down, up) = ((self.mean + 1.0).max(1e-9), (1.0 - self.mean).max(1e-9));
        let off = difference - self.mean;
        for (number, bet) in BETS.into_iter().enumerate() {
            self.above[number] += (bet / down * off).max(-bet).ln_1p();
            self.below[number] += (-bet / up * off).max(-bet).ln_1p();
        }
    }

    fn above(&self) -> f64 {
        mean_of(&self.above)
    }

    fn below(&self) -> f64 {
        mean_of(&self.below)
    }

    fn total(&self) -> f64 {
        0.5 * self.above() + 0.5 * self.below()
    }
}

fn mean_of(logarithms: &[f64]) -> f64 {
    logarithms.iter().map(|logarithm| logarithm.exp()).sum::<f64>() / logarithms.len() as f64
}

/// The same for independent pairs, by their counts alone: what a stake against "won and lost are equally likely" has become, if it was
/// spread evenly over all chances of winning (a Beta-Binomial mixture). At any moment, 20 or more happens by chance at most once in 20.
pub fn discordant_e_value(won: u64, lost: u64) -> f64 {
    let all = won + lost;
    let ln =
        all as f64 * std::f64::consts::LN_2 + ln_factorial(won) + ln_factorial(lost) - ln_factorial(all + 1);
    ln.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Draws;

    fn after(differences: impl IntoIterator<Item = f64>) -> Sequential {
        let mut test = SequentialTest::new(0.95);
        for difference in differences {
            test.push(difference);
        }
        test.verdict()
    }

    /// From 0 up to 1.
    fn draw(draws: &mut Draws) -> f64 {
        (draws.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn e_values_of_counts_are_the_mixture_in_closed_form() {
        // 2^n · B(w + 1, l + 1): 1 for nothing, 2^5 / 6 for five of five, 2^10 · 2! · 8! / 11! for eight of ten.
        assert_eq!(discordant_e_value(0, 0), 1.0);
        assert!((discordant_e_value(5, 0) - 32.0 / 6.0).abs() < 1e-12);
        assert!((discordant_e_value(8, 2) - 1024.0 * 2.0 * 40_320.0 / 39_916_800.0).abs() < 1e-9);
    }

    #[test]
    fn e_values_are_one_on_average_if_there_is_no_difference() {
        // Over all sequences of twelve fair pairs, in which `won` occurs C(12, won) times.
        let ln_choose = |all: u64, few: u64| ln_factorial(all) - ln_factorial(few) - ln_factorial(all - few);
        let mean: f64 = (0..=12)
            .map(|won| {
                (ln_choose(12, won) - 12.0 * std::f64::consts::LN_2).exp() * discordant_e_value(won, 12 - won)
            })
            .sum();
        assert!((mean - 1.0).abs() < 1e-12, "{mean}");
        // The same for the bets on differences, over all 3^7 sequences of a loss, nothing and a win that are equally likely.
        let mut sum = 0.0;
        for sequence in 0..3u32.pow(7) {
            let mut wealth = Wealth::against(0.0);
            (0..7).for_each(|place| wealth.bet(f64::from(sequence / 3u32.pow(place) % 3) - 1.0));
            sum += wealth.total();
        }
        assert!((sum / 3f64.powi(7) - 1.0).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn whoever_looks_after_every_prompt_is_seldom_wrong() {
        // No difference, looked at 300 times each: at most 5 % may ever be decided. Seeds of a prompt agree, as they do.
        let mut draws = Draws::new(2024);
        let (mut decided, mut fooled) = (0, 0);
        for _ in 0..1_000 {
            let mut test = SequentialTest::new(0.95);
            let mut e_value: f64 = 0.0;
            let (mut won, mut lost) = (0, 0);
            for _ in 0..300 {
                let luck = draw(&mut draws);
                let difference = match luck {
                    luck if luck < 0.15 => 1.0,
                    luck if luck < 0.2 => 1.0 / 3.0,
                    luck if luck < 0.25 => -1.0 / 3.0,
                    luck if luck < 0.4 => -1.0,
                    _ => 0.0,
                };
                test.push(difference);
                won += u64::from(difference == 1.0);
                lost += u64::from(difference == -1.0);
                e_value = e_value.max(discordant_e_value(won, lost));
            }
            decided += usize::from(test.decision() != Decision::Undecided);
            fooled += usize::from(e_value >= 20.0);
        }
        assert!(decided <= 50, "{decided} of 1000");
        assert!(fooled <= 50, "{fooled} of 1000");
    }

    #[test]
    fn a_difference_is_found_long_before_the_end() {
        let mut draws = Draws::new(5);
        let (mut found, mut prompts, mut held) = (0, 0, 0);
        for _ in 0..200 {
            let mut test = SequentialTest::new(0.95);
            for _ in 0..120 {
                let luck = draw(&mut draws);
                test.push(if luck < 0.5 {
                    1.0
                } else if luck < 0.55 {
                    -1.0
                } else {
                    0.0
                });
            }
            let verdict = test.verdict();
            found += usize::from(verdict.decision == Decision::Better);
            prompts += verdict.decided_after.unwrap_or(120);
            held += usize::from(verdict.interval.contains(0.45));
        }
        assert_eq!(found, 200);
        assert!(prompts / 200 <= 26, "{} prompts on average", prompts / 200);
        assert!(held >= 190, "{held} of 200");
    }

    #[test]
    fn a_decision_stays_and_says_when_it_was_made() {
        let verdict = after([1.0; 12]);
        assert_eq!((verdict.decision, verdict.prompts), (Decision::Better, 12));
        let at = verdict.decided_after.unwrap();
        assert!(at < 12, "{at}");
        let turned = after([vec![1.0; at], vec![-1.0; 60]].concat());
        assert_eq!((turned.decision, turned.decided_after), (Decision::Better, Some(at)));
        assert_eq!(after([-1.0; 12]).decision, Decision::Worse);
        let nothing = after([]);
        assert_eq!(
            (nothing.decision, nothing.interval),
            (Decision::Undecided, Interval { low: -1.0, high: 1.0 })
        );
    }
}
