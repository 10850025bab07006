//! Credit in bytes, as totals since the connection began.
//!
//! ```text
//!   receiver: granted = consumed + window      (told to the sender as a total)
//!   sender:   may send while sent < granted
//! ```
//! Totals instead of increments: a grant that comes twice, late or out of order does no harm.
//! A sender may overdraw by the one frame that crosses the line, so that a frame is never cut.

/// The sender's side.
#[derive(Debug, Default)]
pub struct Spending {
    granted: u64,
    sent: u64,
}

impl Spending {
    /// With a first window that both sides know.
    #[must_use]
    pub fn new(window: u64) -> Spending {
        Spending { granted: window, sent: 0 }
    }

    /// Whether another frame may go.
    #[must_use]
    pub fn may_send(&self) -> bool {
        self.sent < self.granted
    }

    /// Counts a frame's body.
    pub fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes as u64);
    }

    /// Takes a grant; returns whether it opened a closed gate.
    pub fn granted(&mut self, total: u64) -> bool {
        let was_closed = !self.may_send();
        self.granted = self.granted.max(total);
        was_closed && self.may_send()
    }

    /// Bytes sent for which no new credit has come yet.
    #[must_use]
    pub fn outstanding(&self, window: u64) -> u64 {
        (self.sent + window).saturating_sub(self.granted)
    }
}

/// The receiver's side.
#[derive(Debug)]
pub struct Granting {
    window: u64,
    received: u64,
    consumed: u64,
    granted: u64,
}

impl Granting {
    /// With the first window that both sides know.
    #[must_use]
    pub fn new(window: u64) -> Granting {
        Granting { window, received: 0, consumed: 0, granted: window }
    }

    /// Counts a frame's body as it arrives. False when the sender has taken more than it was given.
    #[must_use]
    pub fn received(&mut self, bytes: usize) -> bool {
        let within = self.received < self.granted;
        self.received = self.received.saturating_add(bytes as u64);
        within
    }

    /// Counts bytes that need no memory any more. Returns the new total to grant when enough has come together (a quarter
    /// of the window) to be worth a frame.
    #[must_use]
    pub fn consumed(&mut self, bytes: usize) -> Option<u64> {
        self.consumed = self.consumed.saturating_add(bytes as u64);
        let total = self.consumed.saturating_add(self.window);
        if total - self.granted.min(total) < self.window / 4 {
            return None;
        }
        self.granted = total;
        Some(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn old_grants_change_nothing() {
        let mut s = Spending::new(100);
        s.sent(150);
        assert!(!s.may_send());
        assert!(!s.granted(120));
        assert!(s.granted(200));
        assert!(!s.granted(120));
        assert!(s.may_send());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        /// Frames and grants interleaved in any way: never more than window + one frame unconsumed, never a standstill.
        #[test]
        fn bounded_and_live(frames in prop::collection::vec(1usize..64, 1..200), window in 256u64..512) {
            let (mut sender, mut receiver) = (Spending::new(window), Granting::new(window));
            let mut unconsumed = std::collections::VecDeque::new();
            for bytes in frames {
                while !sender.may_send() {
                    let oldest: usize = unconsumed.pop_front().expect("closed only while something is unconsumed");
                    if let Some(total) = receiver.consumed(oldest) {
                        sender.granted(total);
                    }
                }
                sender.sent(bytes);
                prop_assert!(receiver.received(bytes));
                unconsumed.push_back(bytes);
                prop_assert!(unconsumed.iter().sum::<usize>() as u64 <= window + 64);
            }
        }
    }
}
