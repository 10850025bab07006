//! Which workload group a session is put into: what the classifier function says when it begins, and again each time its connection
//! is taken from a pool.

use super::Session;
use crate::engine::MASTER;
use crate::modules::Functions;
use crate::run::Runner;
use crate::sink::Unheard;
use keel_query::FunctionInvoker as _;
use keel_query::catalog::ObjectId;
use keel_types::Value;

impl Session {
    /// Puts the session into the group that the classifier says. Without one, when it fails and when it says nobody's name, that is
    /// the default group: nobody is kept out for it.
    pub fn classify(&mut self) {
        let classifier = self.info.engine.governor().running().classifier;
        let name = if classifier == 0 { None } else { self.ask_classifier(classifier) };
        self.info.engine.governor().join(&self.info, name.as_deref());
    }

    /// Puts the session into the internal group, which nothing limits: what the server does by itself.
    pub(crate) fn serve_the_server(&mut self) {
        self.info.engine.governor().join_internal(&self.info);
    }

    fn ask_classifier(&mut self, classifier: ObjectId) -> Option<String> {
        self.begin_request("");
        let info = &self.info;
        let mut nobody = Unheard;
        let mut runner = Runner::new(info, &mut self.txns, &mut nobody);
        let outcome = Functions.invoke_scalar(&mut runner.context_with(&mut []), MASTER, classifier, &[]);
        // Clients are told nothing of what it says.
        info.pending.borrow_mut().clear();
        self.end_request(&mut Unheard);
        match outcome {
            Ok(Value::Str(name)) => Some(name.to_string()),
            Ok(_) => None,
            Err(e) => {
                let text = format!(
                    "Failed to run resource governor classifier user-defined function, session {}: Error: {}, Severity: {}, \
                     State: {}. {}",
                    self.info.shared.id, e.number, e.severity, e.state, e.message
                );
                self.info.engine.options().log.write(&text);
                None
            }
        }
    }
}
