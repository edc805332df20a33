//! Turn taking of contenders, so that other load of the machine affects all alike.

use crate::Result;

/// One turn of a contender: performs the operation once and returns the sample.
pub type TakeTurn<'a, T = f64> = Box<dyn FnMut() -> Result<T> + 'a>;

/// Numbers of rounds.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Warm-up rounds: caches fill, clocks speed up.
    pub warm_up: usize,
    /// Measured rounds.
    pub counted: usize,
}

/// Gives all contenders a turn, round by round: ABC ABC …. Returns the samples of each in order.
///
/// # Errors
/// The first failure of a contender.
pub fn take_turns<T>(
    rounds: Rounds,
    contenders: &mut [TakeTurn<'_, T>],
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
    fn every_contender_has_a_turn_in_each_round() {
        let order = RefCell::new(String::new());
        let go = |name: char| -> TakeTurn<'_> {
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
    fn failure_ends_the_turns() {
        let mut count = 0;
        let mut go: [TakeTurn<'_>; 1] = [Box::new(|| {
            count += 1;
            Err(Error::Failed("no".into()))
        })];
        assert!(take_turns(Rounds { warm_up: 0, counted: 3 }, &mut go, |_| {}).is_err());
        drop(go);
        assert_eq!(count, 1);
    }
}
