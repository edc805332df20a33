//! Statistics of samples. The unit is defined by the caller.

/// Summary of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of samples.
    pub count: usize,
    /// Median.
    pub median: f64,
    /// 10th percentile.
    pub p10: f64,
    /// 90th percentile.
    pub p90: f64,
}

/// Summarizes samples; `None` when there are none.
pub fn summarize(samples: &[f64]) -> Option<Summary> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(Summary {
        count: sorted.len(),
        median: quantile(&sorted, 0.5)?,
        p10: quantile(&sorted, 0.1)?,
        p90: quantile(&sorted, 0.9)?,
    })
}

/// Ratio of `ours` to `theirs` above a floor that both pay; `None` when theirs is not above it.
pub fn ratio_above(floor: f64, ours: f64, theirs: f64) -> Option<f64> {
    (theirs > floor).then(|| (ours - floor) / (theirs - floor))
}

/// Quantile of sorted samples, interpolated between two samples.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_samples_have_no_summary() {
        assert_eq!(summarize(&[]), None);
    }

    #[test]
    fn one_sample_is_its_own_summary() {
        let summary = summarize(&[3.0]).unwrap();
        assert_eq!(summary, Summary { count: 1, median: 3.0, p10: 3.0, p90: 3.0 });
    }

    #[test]
    fn order_of_samples_does_not_matter() {
        let summary = summarize(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(summary.median, 2.5);
        assert_eq!(summary, summarize(&[1.0, 2.0, 3.0, 4.0]).unwrap());
    }

    #[test]
    fn quantiles_lie_between_samples() {
        let samples: Vec<f64> = (0..=100).map(f64::from).collect();
        let summary = summarize(&samples).unwrap();
        assert_eq!((summary.p10, summary.median, summary.p90), (10.0, 50.0, 90.0));
        let pair = summarize(&[0.0, 10.0]).unwrap();
        assert_eq!((pair.p10, pair.median, pair.p90), (1.0, 5.0, 9.0));
    }

    #[test]
    fn ratio_is_taken_above_the_floor() {
        assert_eq!(ratio_above(1.0, 2.0, 5.0), Some(0.25));
        assert_eq!(ratio_above(0.0, 3.0, 4.0), Some(0.75));
        assert_eq!(ratio_above(5.0, 6.0, 5.0), None);
    }
}
