//! (to come)

use super::SystemView;

pub(super) static VIEWS: &[SystemView] = &[];
