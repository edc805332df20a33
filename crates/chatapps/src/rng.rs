//! A small seeded generator (splitmix64): the same seed and salt give the same sequence on every machine.

/// Generator of pseudo-random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Creates a generator for one purpose: another salt gives an unrelated sequence.
    pub(crate) fn new(seed: u64, salt: &str) -> Self {
        // FNV-1a.
        let salt = salt.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut rng = Self(seed ^ salt);
        rng.next();
        rng
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which must not be zero.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One item of a list that is not empty.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Shuffles a list.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    /// A short word of letters and digits that begins with a letter.
    pub(crate) fn word(&mut self) -> String {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let length = 5 + self.below(3);
        let first = char::from(LETTERS[self.below(26)]);
        let rest = (1..length).map(|_| char::from(LETTERS[self.below(LETTERS.len())]));
        std::iter::once(first).chain(rest.collect::<Vec<_>>()).collect()
    }
}
