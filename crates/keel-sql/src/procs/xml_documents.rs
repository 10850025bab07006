//! Documents for OPENXML.

use super::{Outcome, number, ok, output, string};
use crate::errors;
use crate::run::{Argument, Runner};
use keel_query::openxml::Prepared;
use keel_types::{SqlType, Value};

/// `sp_xml_preparedocument @hdoc OUTPUT, @xmltext, @xpath_namespaces`
pub(super) fn sp_xml_preparedocument(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let text = string(args, "xmltext", 1).unwrap_or_default();
    let namespaces = string(args, "xpath_namespaces", 2);
    let document = Prepared::new(&text, namespaces.as_deref())?;
    let share = runner.info.governed_memory();
    let most = runner.info.engine.work_space().memory_bytes_max_of(share.as_deref());
    match runner.info.xml_documents.borrow_mut().add(document, most) {
        Some(handle) => Ok(output(0, Value::Int(handle), SqlType::Int)),
        None => Err(errors::no_memory_for_xml().into()),
    }
}

/// `sp_xml_removedocument @hdoc`
pub(super) fn sp_xml_removedocument(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let found = number(args, "hdoc", 0).is_some_and(|h| runner.info.xml_documents.borrow_mut().remove(h));
    if found { ok() } else { Err(errors::no_xml_document().into()) }
}
