//! Wilson's interval of a share, and the same where cases come in clusters.

use super::Interval;

/// The 97.5 % point of the normal distribution: intervals hold the truth 95 times in 100.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's interval at 95 %. `cases` need not be whole: an effective number will do. Without cases anything is possible.
pub fn wilson(share: f64, cases: f64) -> Interval {
    if cases <= 0.0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let shrunk = 1.0 + Z * Z / cases;
    let middle = (share + Z * Z / (2.0 * cases)) / shrunk;
    let reach = Z * (share * (1.0 - share) / cases + Z * Z / (4.0 * cases * cases)).sqrt() / shrunk;
    Interval { low: (middle - reach).max(0.0), high: (middle + reach).min(1.0) }
}

/// Wilson's interval for cases in clusters, each as `(passed, of)`: with as many cases as if all were independent.
pub fn clustered_wilson(clusters: &[(u64, u64)]) -> Interval {
    let (passed, of) = total(clusters);
    if of == 0 {
        return wilson(0.0, 0.0);
    }
    wilson(passed as f64 / of as f64, effective_cases(clusters))
}

/// How many independent cases tell as much as these clusters do: between the number of clusters and of cases, by the variance of the ratio
/// estimator (Kish's design effect).
pub fn effective_cases(clusters: &[(u64, u64)]) -> f64 {
    let clusters: Vec<(u64, u64)> = clusters.iter().copied().filter(|(_, of)| *of > 0).collect();
    let (passed, of) = total(&clusters);
    let (count, cases) = (clusters.len() as f64, of as f64);
    if clusters.len() < 2 {
        return count;
    }
    let share = passed as f64 / cases;
    let independent = share * (1.0 - share) / cases;
    if independent <= 0.0 {
        // All alike: nothing is known of how clusters differ, so each counts as one.
        return count;
    }
    let scatter: f64 =
        clusters.iter().map(|(passed, of)| (*passed as f64 - share * *of as f64).powi(2)).sum();
    let clustered = count / (count - 1.0) * scatter / (cases * cases);
    (cases * independent / clustered).clamp(count.min(cases), cases)
}

fn total(clusters: &[(u64, u64)]) -> (u64, u64) {
    clusters.iter().fold((0, 0), |(passed, of), cluster| (passed + cluster.0, of + cluster.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(interval: Interval) -> (f64, f64) {
        let four = |number: f64| (number * 1e4).round() / 1e4;
        (four(interval.low), four(interval.high))
    }

    #[test]
    fn intervals_are_the_published_ones() {
        // Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81/263, 15/148, 0/20, 1/29.
        assert_eq!(rounded(wilson(81.0 / 263.0, 263.0)), (0.2553, 0.3662));
        assert_eq!(rounded(wilson(15.0 / 148.0, 148.0)), (0.0624, 0.1605));
        assert_eq!(rounded(wilson(0.0, 20.0)), (0.0, 0.1611));
        assert_eq!(rounded(wilson(1.0 / 29.0, 29.0)), (0.0061, 0.1718));
        assert_eq!(rounded(wilson(0.0, 0.0)), (0.0, 1.0));
    }

    #[test]
    fn seeds_of_one_prompt_count_less_the_more_they_agree() {
        // Three seeds that always agree are one case; as alike as chance, they are three.
        let agreeing: Vec<(u64, u64)> = (0..40).map(|prompt| (3 * (prompt % 2), 3)).collect();
        assert_eq!(effective_cases(&agreeing), 40.0);
        let spread: Vec<(u64, u64)> =
            [(0, 3), (1, 3), (1, 3), (1, 3), (2, 3), (2, 3), (2, 3), (3, 3)].repeat(5);
        let cases = effective_cases(&spread);
        assert!((115.0..=120.0).contains(&cases), "{cases}");
        assert_eq!(effective_cases(&[(3, 3), (3, 3)]), 2.0);
        assert_eq!(clustered_wilson(&[(1, 1), (0, 1), (1, 1), (0, 1)]), wilson(0.5, 4.0));
    }
}
