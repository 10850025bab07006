//! What `sp_server_diagnostics` shows, as plain data: the server measures it ([`crate::Engine::set_diagnostics`]).

/// Where a component belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// The instance.
    Instance,
    /// An availability group.
    Group,
}

impl ComponentKind {
    /// `component_type`
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ComponentKind::Instance => "instance",
            ComponentKind::Group => "Always On:AvailabilityGroup",
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Where it belongs.
    pub kind: ComponentKind,
    /// `component_name`: `system`, `resource`, `query_processing`, `io_subsystem`, `events`, or a group's name.
    pub name: String,
    /// 0 unknown, 1 clean, 2 warning, 3 error.
    pub state: u8,
    /// XML.
    pub data: String,
}

impl Component {
    /// `state_desc`
    #[must_use]
    pub fn state_word(&self) -> &'static str {
        match self.state {
            1 => "clean",
            2 => "warning",
            3 => "error",
            _ => "unknown",
        }
    }
}

/// Who measures. Called by session threads; answers at once, whatever else hangs.
pub trait Diagnostics: Send + Sync {
    /// All components as of now, the instance's first.
    fn components(&self) -> Vec<Component>;
}
