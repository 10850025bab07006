//! ALTER DATABASE … SET PARTNER and SET WITNESS: checked, then asked for.

use super::{HadrCommand, check, errors, mirroring};
use crate::engine::{DatabaseEntry, MSDB};
use crate::run::Runner;
use keel_parser::ast;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    pub(crate) fn set_partner(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        action: &ast::PartnerAction,
    ) -> Result<()> {
        let database = entry.name().to_string();
        if entry.id <= MSDB {
            return Err(errors::option_not_for_database("PARTNER", database));
        }
        let hadr = self.info.engine.hadr().cloned().ok_or_else(errors::mirroring_transport_off)?;
        let change = mirroring::partner(&hadr.state(), &database, entry.is_restoring(), action)?;
        let begins = match &change {
            mirroring::Change::BecomePrincipal(_) => {
                check::settings(entry)?;
                true
            }
            mirroring::Change::BecomeMirror(_) => true,
            _ => false,
        };
        if begins && !self.info.engine.endpoints()?.iter().any(|e| e.state == super::EndpointState::Started) {
            return Err(errors::mirroring_transport_off());
        }
        self.ask(&*hadr, HadrCommand::Mirror { database, change })
    }

    pub(crate) fn set_witness(&mut self, entry: &Arc<DatabaseEntry>, url: Option<&str>) -> Result<()> {
        let database = entry.name().to_string();
        if entry.id <= MSDB {
            return Err(errors::option_not_for_database("WITNESS", database));
        }
        let hadr = self.info.engine.hadr().cloned().ok_or_else(errors::mirroring_transport_off)?;
        let change = mirroring::witness(&hadr.state(), &database, url)?;
        self.ask(&*hadr, HadrCommand::Mirror { database, change })
    }
}
