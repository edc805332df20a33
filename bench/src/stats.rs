//! From samples to the few numbers that are told. Which unit they have is the caller's business.

/// What a row of samples comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many samples.
    pub count: usize,
    /// Half of the samples are below it.
    pub median: f64,
    /// A tenth of the samples is below it.
    pub p10: f64,
    /// A tenth of the samples is above it.
    pub p90: f64,
}

/// Sums samples up; `None` when there are none.
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

/// How much of `theirs` is `ours`, once what both pay anyway is taken off; `None` when they pay nothing else.
pub fn ratio_above(floor: f64, ours: f64, theirs: f64) -> Option<f64> {
    (theirs > floor).then(|| (ours - floor) / (theirs - floor))
}

/// The value below which `share` of the sorted samples lie, between two samples when it falls there.
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
    fn ratio_leaves_out_what_both_pay() {
        assert_eq!(ratio_above(1.0, 2.0, 5.0), Some(0.25));
        assert_eq!(ratio_above(0.0, 3.0, 4.0), Some(0.75));
        assert_eq!(ratio_above(5.0, 6.0, 5.0), None);
    }
}
