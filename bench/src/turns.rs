//! Contenders take turns, so that whatever else the machine does hits all of them alike.

use crate::Result;

/// One contender's go: does it once and tells the sample.
pub type Go<'a, T = f64> = Box<dyn FnMut() -> Result<T> + 'a>;

/// How often everybody has a go.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Rounds that do not count: caches fill, clocks speed up.
    pub warm_up: usize,
    /// Rounds that count.
    pub counted: usize,
}

/// Lets everybody have a go, round by round: ABC ABC …. The samples of each contender come back in their order.
///
/// # Errors
/// The first failure of a contender.
pub fn take_turns<T>(
    rounds: Rounds,
    contenders: &mut [Go<'_, T>],
    mut progress: impl FnMut(usize),
) -> Result<Vec<Vec<T>>> {
    let mut samples: Vec<Vec<T>> = contenders.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds.warm_up + rounds.counted {
        for (go, samples) in contenders.iter_mut().zip(&mut samples) {
            let sample = go()?;
            if round >= rounds.warm_up {
                samples.push(sample);
            }
        }
        progress(round + 1);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use std::cell::RefCell;

    #[test]
    fn everybody_has_a_go_each_round() {
        let order = RefCell::new(String::new());
        let go = |name: char| -> Go<'_> {
            let order = &order;
            Box::new(move || {
                order.borrow_mut().push(name);
                Ok(f64::from(u32::from(name)))
            })
        };
        let rounds = Rounds { warm_up: 1, counted: 2 };
        let samples = take_turns(rounds, &mut [go('A'), go('B')], |_| {}).unwrap();
        assert_eq!(*order.borrow(), "ABABAB");
        assert_eq!(samples, [[65.0; 2], [66.0; 2]]);
    }

    #[test]
    fn a_failure_ends_it() {
        let mut count = 0;
        let mut go: [Go<'_>; 1] = [Box::new(|| {
            count += 1;
            Err(Error::Failed("no".into()))
        })];
        assert!(take_turns(Rounds { warm_up: 0, counted: 3 }, &mut go, |_| {}).is_err());
        drop(go);
        assert_eq!(count, 1);
    }
}
