//! CREATE, ALTER and DROP EVENT SESSION: names and values are looked up, the definition is kept in master, and a session that
//! runs goes on with it.

use crate::events::catalog::{self, Action, Event, Ty};
use crate::events::definition::{
    Definition, EventPart, PartitionMode, Retention, SessionOptions, Setting, TargetPart,
};
use crate::events::errors;
use crate::events::predicate::{Constant, Op, Predicate, Source};
use crate::run::Runner;
use keel_parser::ast::{
    self, EventPredicate, EventSessionAction, EventSessionChange, EventSessionStatement, ExprKind, Literal,
    ObjectName, Opt, OptValue,
};
use keel_types::error::Result;

/// MAX_DISPATCH_LATENCY at most, seconds.
const LATENCY_MAX: i64 = 86_400;

impl Runner<'_> {
    /// CREATE, ALTER or DROP EVENT SESSION.
    pub(super) fn event_session(&mut self, s: &EventSessionStatement) -> Result<()> {
        let may = self.info.unrestricted.get() || self.info.may_on_server("ALTER ANY EVENT SESSION");
        let engine = &self.info.engine;
        let name = s.name.text.as_str();
        if s.on_database {
            return Err(errors::of_database());
        }
        let _admin = engine.events.admin.lock();
        let found = engine.event_session(name)?.filter(|_| may);
        match &s.action {
            EventSessionAction::Create { .. } if !may => Err(errors::no_permission()),
            EventSessionAction::Create { .. } if found.is_some() => Err(errors::exists(name)),
            EventSessionAction::Create { changes, options } => {
                let mut definition = Definition {
                    id: 0,
                    name: name.to_owned(),
                    events: Vec::new(),
                    targets: Vec::new(),
                    options: SessionOptions::default(),
                    last_part: 0,
                };
                set_options(&mut definition.options, options)?;
                apply(&mut definition, changes)?;
                engine.put_event_session(&mut definition)
            }
            EventSessionAction::Alter { changes, options, state } => {
                let definition = found.ok_or_else(|| errors::no_session("alter", name))?;
                self.alter_event_session(definition, changes, options, *state)
            }
            EventSessionAction::Drop => {
                let definition = found.ok_or_else(|| errors::no_session("drop", name))?;
                engine.drop_event_session(definition.id)
            }
        }
    }

    fn alter_event_session(
        &self,
        mut definition: Definition,
        changes: &[EventSessionChange],
        options: &[Opt],
        state: Option<bool>,
    ) -> Result<()> {
        let engine = &self.info.engine;
        let runs = engine.events.running(definition.id).is_some();
        match state {
            Some(true) if runs => return Err(errors::already_started()),
            Some(false) if !runs => return Err(errors::already_stopped()),
            _ => {}
        }
        if let Some(option) = options.iter().find(|o| runs && o.name != "STARTUP_STATE") {
            return Err(errors::option_while_running(&option.name));
        }
        let before = definition.clone();
        set_options(&mut definition.options, options)?;
        apply(&mut definition, changes)?;
        if definition != before {
            engine.put_event_session(&mut definition)?;
        }
        match state {
            Some(false) => {
                engine.events.stop(definition.id);
                Ok(())
            }
            Some(true) => engine.start_event_session(definition),
            None if runs => engine.start_event_session(definition),
            None => Ok(()),
        }
    }
}

/// A name as messages write it.
fn written(name: &ObjectName) -> String {
    let part = |ident: &ast::Ident| format!("{}.", ident.text);
    let package = name.schema.as_ref().map(part).unwrap_or_default();
    format!("{package}{}", name.name.text)
}

fn package(name: &ObjectName) -> Option<&str> {
    name.schema.as_ref().map(|schema| schema.text.as_str())
}

fn apply(definition: &mut Definition, changes: &[EventSessionChange]) -> Result<()> {
    let mut added: Vec<String> = Vec::new();
    for change in changes {
        match change {
            EventSessionChange::AddEvent(event) => {
                let name = written(&event.name);
                if added.contains(&name.to_ascii_lowercase()) {
                    return Err(errors::twice("event", name));
                }
                let id = definition.last_part + 1;
                let part = event_part(event, id)?;
                if definition.events.iter().any(|e| e.name == part.name) {
                    return Err(errors::already_there("event", name));
                }
                definition.events.push(part);
                definition.last_part = id;
                added.push(name.to_ascii_lowercase());
            }
            EventSessionChange::DropEvent(name) => {
                let event = find_event(name)?;
                let at = definition.events.iter().position(|e| e.name == event.info().name);
                let at = at.ok_or_else(|| errors::not_in_session("event", written(name)))?;
                definition.events.remove(at);
            }
            EventSessionChange::AddTarget(target) => {
                let part = target_part(target, definition.last_part + 1)?;
                if definition.targets.iter().any(|t| t.name == part.name) {
                    return Err(errors::already_there("target", written(&target.name)));
                }
                definition.last_part = part.id;
                definition.targets.push(part);
            }
            EventSessionChange::DropTarget(name) => {
                let known = find_target(name)?;
                let at = definition.targets.iter().position(|t| t.name == known.name);
                let at = at.ok_or_else(|| errors::not_in_session("target", written(name)))?;
                definition.targets.remove(at);
            }
        }
    }
    Ok(())
}

fn find_event(name: &ObjectName) -> Result<Event> {
    let ours = package(name).is_some_and(|p| p.eq_ignore_ascii_case("sqlserver"));
    let found = ours.then(|| Event::named(&name.name.text)).flatten();
    found.ok_or_else(|| errors::unknown_object("event", written(name)))
}

fn find_target(name: &ObjectName) -> Result<&'static catalog::TargetInfo> {
    let ours = package(name).is_some_and(|p| p.eq_ignore_ascii_case("package0"));
    let found = ours.then(|| catalog::target(&name.name.text)).flatten();
    found.ok_or_else(|| errors::unknown_object("target", written(name)))
}

fn event_part(event: &ast::SessionEvent, id: i32) -> Result<EventPart> {
    let found = find_event(&event.name)?;
    let info = found.info();
    let name = written(&event.name);
    let mut settings = Vec::new();
    for (attribute, value) in settings_of("event", &name, &event.settings)? {
        let known = info.settings.iter().find(|s| s.eq_ignore_ascii_case(&attribute));
        let known = known.ok_or_else(|| errors::no_attribute("event", &name, &attribute))?;
        if !matches!(value, Setting::Number(0 | 1)) {
            return Err(errors::attribute_type("event", &name, &attribute, "boolean"));
        }
        settings.push(((*known).to_owned(), value));
    }
    let mut actions = Vec::new();
    for action in &event.actions {
        let known = Action::named(package(action).unwrap_or_default(), &action.name.text);
        let known = known.ok_or_else(|| errors::unknown_object("action", written(action)))?.info();
        let pair = (known.package.name.to_owned(), known.name.to_owned());
        if actions.contains(&pair) {
            return Err(errors::twice("action", written(action)));
        }
        actions.push(pair);
    }
    let predicate = event.predicate.as_ref().map(|p| predicate(p, info.columns, &name)).transpose()?;
    Ok(EventPart {
        id,
        package: "sqlserver".to_owned(),
        name: info.name.to_owned(),
        settings,
        actions,
        predicate,
    })
}

fn target_part(target: &ast::SessionTarget, id: i32) -> Result<TargetPart> {
    let known = find_target(&target.name)?;
    let name = written(&target.name);
    let mut settings = Vec::new();
    for (attribute, value) in settings_of("target", &name, &target.settings)? {
        let found = known.settings.iter().find(|(s, ..)| s.eq_ignore_ascii_case(&attribute));
        let (attribute, ty, _) = found.ok_or_else(|| errors::no_attribute("target", &name, &attribute))?;
        let fits = match (ty, &value) {
            (Ty::Text, Setting::Text(_)) => true,
            (Ty::Text, _) => false,
            (_, value) => value.number().is_some_and(|n| n >= 0),
        };
        if !fits {
            return Err(errors::attribute_type("target", &name, attribute, ty.name()));
        }
        settings.push(((*attribute).to_owned(), value));
    }
    let part = TargetPart { id, name: known.name.to_owned(), settings };
    if let Some(mandatory) = known.mandatory
        && part.setting(mandatory).is_none_or(|value| value.text().trim().is_empty())
    {
        return Err(errors::mandatory("target", name));
    }
    if part.setting("max_file_size").is_some_and(|size| size.number() == Some(0)) {
        let why = "The value must be at least 1 MB.";
        return Err(errors::invalid_parameter("target", name, "max_file_size", why));
    }
    Ok(part)
}

fn settings_of(kind: &str, of: &str, settings: &[Opt]) -> Result<Vec<(String, Setting)>> {
    let mut out: Vec<(String, Setting)> = Vec::new();
    for setting in settings {
        if out.iter().any(|(name, _)| name.eq_ignore_ascii_case(&setting.name)) {
            return Err(errors::attribute_twice(kind, of, &setting.name));
        }
        let value = match &setting.value {
            OptValue::String(text) => Setting::Text(text.to_string()),
            OptValue::Word(word) => Setting::Text(word.text.to_string()),
            OptValue::Number(number) => match whole(number) {
                Some(n) => Setting::Number(i64::try_from(n).unwrap_or(i64::MAX)),
                None => return Err(errors::attribute_type(kind, of, &setting.name, "uint64")),
            },
            _ => return Err(errors::attribute_type(kind, of, &setting.name, "uint64")),
        };
        out.push((setting.name.to_string(), value));
    }
    Ok(out)
}

fn whole(number: &Literal) -> Option<i128> {
    match number {
        Literal::Int(n) => Some(i128::from(*n)),
        Literal::Numeric { mantissa, scale: 0, .. } => Some(*mantissa),
        _ => None,
    }
}

// ---- predicates ----

type Columns<'c> = &'c [(&'static str, Ty)];

/// A condition over what has these columns; `name` is what messages call it.
pub(super) fn predicate(p: &EventPredicate, columns: Columns<'_>, name: &str) -> Result<Predicate> {
    let all =
        |terms: &[EventPredicate]| terms.iter().map(|t| predicate(t, columns, name)).collect::<Result<_>>();
    Ok(match p {
        EventPredicate::And(terms) => Predicate::And(all(terms)?),
        EventPredicate::Or(terms) => Predicate::Or(all(terms)?),
        EventPredicate::Not(inner) => Predicate::Not(Box::new(predicate(inner, columns, name)?)),
        EventPredicate::Compare { source, op, value } => {
            let op = match op {
                ast::CompareOp::Equal => Op::Equal,
                ast::CompareOp::NotEqual => Op::NotEqual,
                ast::CompareOp::Less => Op::Less,
                ast::CompareOp::LessOrEqual => Op::LessOrEqual,
                ast::CompareOp::Greater => Op::Greater,
                ast::CompareOp::GreaterOrEqual => Op::GreaterOrEqual,
            };
            test(source, op, value, columns, name)?
        }
        EventPredicate::Like { source, pattern } => test(source, Op::Like, pattern, columns, name)?,
        EventPredicate::Call { comparator, source, value } => {
            let missing = || errors::not_found("predicate compare", written(comparator));
            let (op, number) = Op::of_comparator(&comparator.name.text).ok_or_else(missing)?;
            let test = test(source, op, value, columns, name)?;
            let fits = matches!(&test, Predicate::Test { value: Constant::Number(_), .. }) == number;
            if !fits {
                return Err(errors::mismatching_types("event", name));
            }
            test
        }
    })
}

fn test(
    source: &ObjectName,
    op: Op,
    value: &ast::Expr,
    columns: Columns<'_>,
    name: &str,
) -> Result<Predicate> {
    let (found, ty) = find_source(source, columns)?;
    let value = constant(value).ok_or_else(|| errors::predicate_value(name, written(source)))?;
    // What a map's number stands for may be said instead of the number.
    let fits = match &value {
        Constant::Number(_) => ty.is_number(),
        Constant::Text(_) => matches!(ty, Ty::Text | Ty::Xml | Ty::Map(_)),
        Constant::Bytes(_) => matches!(ty, Ty::Binary | Ty::Guid),
    };
    if !fits {
        return Err(errors::predicate_value(name, written(source)));
    }
    if op == Op::Like && ty.is_number() {
        return Err(errors::predicate_operator(name, "LIKE", ty.name(), written(source)));
    }
    Ok(Predicate::Test { source: found, op, value })
}

fn find_source(source: &ObjectName, columns: Columns<'_>) -> Result<(Source, Ty)> {
    let missing = || errors::not_found("event attribute or predicate source", written(source));
    // Tools write `[sqlserver.database_name]`, too.
    let (package, name) = match (package(source), source.name.text.split_once('.')) {
        (None, Some((package, name))) => (Some(package), name),
        (package, _) => (package, source.name.text.as_str()),
    };
    let column = columns.iter().find(|(c, _)| c.eq_ignore_ascii_case(name));
    let found = match package {
        None => match column {
            Some((column, _)) => Source::Column((*column).to_owned()),
            // A name alone is a column, or else whatever package has it.
            None => {
                let mut all = catalog::ACTIONS.iter().filter(|a| a.source);
                let info = all.find(|a| a.name.eq_ignore_ascii_case(name)).ok_or_else(missing)?;
                Source::Global(info.package.name.to_owned(), info.name.to_owned())
            }
        },
        Some(package) if package.eq_ignore_ascii_case("package0") && is_counter(name) => Source::Counter,
        Some(package) => {
            let action = Action::named(package, name).filter(|action| action.info().source);
            let info = action.ok_or_else(missing)?.info();
            Source::Global(info.package.name.to_owned(), info.name.to_owned())
        }
    };
    let ty = found.ty(columns).ok_or_else(missing)?;
    Ok((found, ty))
}

fn is_counter(name: &str) -> bool {
    ["counter", "partitioned_counter"].iter().any(|c| c.eq_ignore_ascii_case(name))
}

fn constant(e: &ast::Expr) -> Option<Constant> {
    match &e.kind {
        ExprKind::Literal(Literal::String { value, .. }) => Some(Constant::Text(value.to_string())),
        ExprKind::Literal(Literal::Binary(bytes)) => Some(Constant::Bytes(bytes.to_vec())),
        ExprKind::Literal(number) => whole(number).map(Constant::Number),
        ExprKind::Unary { op: ast::UnaryOp::Minus, operand } => match constant(operand)? {
            Constant::Number(n) => Some(Constant::Number(-n)),
            _ => None,
        },
        _ => None,
    }
}

// ---- options ----

fn set_options(options: &mut SessionOptions, given: &[Opt]) -> Result<()> {
    for (n, option) in given.iter().enumerate() {
        if given[..n].iter().any(|before| before.name == option.name) {
            return Err(errors::option_twice(&option.name));
        }
        set_option(options, option).ok_or_else(|| errors::option_value(&option.name))?;
    }
    Ok(())
}

fn set_option(options: &mut SessionOptions, option: &Opt) -> Option<()> {
    let word = option.value.text().map(str::to_ascii_uppercase).unwrap_or_default();
    let on = || match word.as_str() {
        "ON" => Some(true),
        "OFF" => Some(false),
        _ => None,
    };
    match option.name.as_str() {
        "EVENT_RETENTION_MODE" => {
            let modes = [Retention::SingleLoss, Retention::MultipleLoss, Retention::NoLoss];
            options.retention = modes.into_iter().find(|mode| mode.names().1 == word)?;
        }
        "MEMORY_PARTITION_MODE" => {
            let modes = [PartitionMode::None, PartitionMode::PerNode, PartitionMode::PerCpu];
            options.partition = modes.into_iter().find(|mode| mode.names().1 == word)?;
        }
        "MAX_DISPATCH_LATENCY" if word == "INFINITE" => options.dispatch_latency = 0,
        "MAX_DISPATCH_LATENCY" => {
            let seconds = measured(&option.value, &["SECONDS", "SECOND"], 1)?;
            options.dispatch_latency =
                i32::try_from(seconds).ok().filter(|s| i64::from(*s) <= LATENCY_MAX)?;
        }
        "MAX_MEMORY" => options.memory_kb = kilobytes(&option.value).filter(|kb| *kb > 0)?,
        "MAX_EVENT_SIZE" => options.event_size_kb = kilobytes(&option.value)?,
        "TRACK_CAUSALITY" => options.causality = on()?,
        "STARTUP_STATE" => options.startup = on()?,
        // How long a session runs at most: what is here runs until it is stopped.
        "MAX_DURATION" if word == "UNLIMITED" => {}
        _ => return None,
    }
    Some(())
}

fn kilobytes(value: &OptValue) -> Option<i32> {
    let kb = measured(value, &["KB"], 1).or_else(|| measured(value, &["MB"], 1024))?;
    i32::try_from(kb).ok()
}

/// A number of one of these units; without a unit it is of the first kind.
fn measured(value: &OptValue, units: &[&str], factor: i128) -> Option<i128> {
    let number = match value {
        OptValue::Measure(number, unit) if units.iter().any(|u| unit.eq_ignore_ascii_case(u)) => number,
        OptValue::Number(number) if factor == 1 => number,
        _ => return None,
    };
    whole(number).filter(|n| *n >= 0).map(|n| n * factor)
}
