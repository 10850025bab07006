//! Distributed availability groups: CREATE, JOIN and what else their statements ask for.
//!
//! A distributed group is kept by its two member groups (`keel-cluster` has how); here its statements are checked against what the instance knows. Views show it as a group whose replicas are named after
//! the member groups ([`DistributedState`]).

use super::command::HadrCommand;
use super::config::{AvailabilityMode, FailoverMode, SeedingMode};
use super::state::{GroupState, HadrState, Role};
use super::{build, check, errors};
use crate::catalog::fold;
use keel_parser::ast::{self, AvailabilityGroupAction as Action, Opt, ReplicaOption};
use keel_types::error::Result;

/// A distributed group, as the views show it, and the local group that is one of its members.
#[derive(Clone, Debug, PartialEq)]
pub struct DistributedState {
    /// Name of the local member group.
    pub local: String,
    /// The distributed group; its replicas are named after its members, their endpoint is the member's `LISTENER_URL`. Its role is
    /// that of the local group in it.
    pub group: GroupState,
    /// The primary of the local member group is here: its state is known.
    pub leads: bool,
}

/// `'ag' WITH (…)` of a distributed group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributedMember {
    /// Name of the availability group.
    pub group: String,
    /// LISTENER_URL, `TCP://host:port`.
    pub listener_url: String,
    /// AVAILABILITY_MODE.
    pub availability_mode: AvailabilityMode,
    /// SEEDING_MODE.
    pub seeding_mode: SeedingMode,
}

/// What is asked of a distributed group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DistributedChange {
    /// CREATE … WITH (DISTRIBUTED): the local group becomes the source.
    Create {
        /// Both members, as written.
        members: Vec<DistributedMember>,
    },
    /// JOIN AVAILABILITY GROUP ON: the local group takes its databases from the other.
    Join {
        /// Both members, as written.
        members: Vec<DistributedMember>,
    },
    /// MODIFY AVAILABILITY GROUP ON
    Modify {
        /// Both members, as they shall be.
        members: Vec<DistributedMember>,
    },
    /// SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = …)
    Required(u32),
    /// SET (ROLE = SECONDARY)
    RoleSecondary,
    /// FORCE_FAILOVER_ALLOW_DATA_LOSS
    ForceFailover,
    /// DROP
    Drop,
}

impl HadrState {
    /// The distributed group of this name.
    #[must_use]
    pub fn distributed(&self, name: &str) -> Option<&DistributedState> {
        self.distributed.iter().find(|d| fold(&d.group.spec.name) == fold(name))
    }

    /// The same without the distributed groups whose state is known elsewhere.
    pub fn groups_with_states(&self) -> impl Iterator<Item = &GroupState> {
        self.groups.iter().chain(self.distributed.iter().filter(|d| d.leads).map(|d| &d.group))
    }

    /// Groups and distributed groups: what views list.
    pub fn all_groups(&self) -> impl Iterator<Item = &GroupState> {
        self.groups.iter().chain(self.distributed.iter().map(|d| &d.group))
    }
}

/// The request that a statement about a distributed group makes; `None` when the statement is about another kind of group.
///
/// # Errors
/// The product's, 19497 to 19513 among them.
pub fn command(state: &HadrState, name: &str, action: &Action) -> Result<Option<HadrCommand>> {
    let known = state.distributed(name);
    let written = match (action, known) {
        (Action::Create { options, members, .. }, _) => {
            if !is_distributed(options, members)? {
                return match known {
                    Some(_) => Err(errors::group_exists(name)),
                    None => Ok(None),
                };
            }
            members
        }
        (Action::JoinDistributed(members), _) => members,
        (Action::ModifyDistributed(_), None) if state.group(name).is_some() => {
            return Err(errors::not_distributed(name));
        }
        (Action::ModifyDistributed(_), None) => return Err(errors::no_distributed(name)),
        (action, Some(known)) => return change(known, action).map(|change| Some(asked(known, change))),
        (_, None) => return Ok(None),
    };
    let members = both(written)?;
    if state.group(name).is_some() {
        return Err(errors::distributed_name_taken(name));
    }
    if known.is_some() {
        return Err(errors::distributed_exists(name));
    }
    let joins = matches!(action, Action::JoinDistributed(_));
    let local = local_member(state, name, &members, joins)?.spec.name.clone();
    let change =
        if joins { DistributedChange::Join { members } } else { DistributedChange::Create { members } };
    Ok(Some(HadrCommand::Distributed { name: name.to_owned(), local, change }))
}

fn asked(known: &DistributedState, change: DistributedChange) -> HadrCommand {
    let (name, local) = (known.group.spec.name.clone(), known.local.clone());
    HadrCommand::Distributed { name, local, change }
}

fn is_distributed(options: &[Opt], members: &[ast::ReplicaSpec]) -> Result<bool> {
    let said = options.iter().any(|o| o.name == "DISTRIBUTED");
    match (said, members.is_empty()) {
        (true, _) if options.len() > 1 => Err(errors::distributed_conflict()),
        (true, true) => Err(build::syntax("FOR")),
        (false, false) => Err(errors::distributed_unsaid()),
        (said, _) => Ok(said),
    }
}

/// Both members, with all that must be said of them.
fn both(written: &[ast::ReplicaSpec]) -> Result<Vec<DistributedMember>> {
    let members: Vec<DistributedMember> = written.iter().map(member).collect::<Result<_>>()?;
    match members.as_slice() {
        [a, b] if fold(&a.group) == fold(&b.group) => Err(errors::server_twice(&b.group)),
        [_, _] => Ok(members),
        [_] => Err(build::syntax(")")),
        _ => Err(build::syntax(",")),
    }
}

fn member(written: &ast::ReplicaSpec) -> Result<DistributedMember> {
    let name = written.name.as_str();
    let mut member = DistributedMember {
        group: name.to_owned(),
        listener_url: String::new(),
        availability_mode: AvailabilityMode::ConfigurationOnly,
        seeding_mode: SeedingMode::Manual,
    };
    let mut failover = false;
    for option in &written.options {
        failover |= apply(&mut member, option)?;
    }
    if member.listener_url.is_empty() {
        return Err(errors::bad_listener_url(""));
    }
    if member.availability_mode == AvailabilityMode::ConfigurationOnly {
        return Err(errors::availability_mode_missing(name));
    }
    if !failover {
        return Err(errors::failover_mode_missing(name));
    }
    Ok(member)
}

/// Sets one option; whether it was FAILOVER_MODE.
fn apply(member: &mut DistributedMember, option: &ReplicaOption) -> Result<bool> {
    let ReplicaOption::Plain(option) = option else { return Err(build::syntax("(")) };
    match option.name.as_str() {
        "LISTENER_URL" => {
            let url = option.value.text().unwrap_or("");
            build::tcp_url(url).ok_or_else(|| errors::bad_listener_url(url))?;
            url.clone_into(&mut member.listener_url);
        }
        "AVAILABILITY_MODE" => {
            let mode = build::parsed(option, AvailabilityMode::parse)?;
            if mode == AvailabilityMode::ConfigurationOnly {
                return Err(build::syntax("CONFIGURATION_ONLY"));
            }
            member.availability_mode = mode;
        }
        "FAILOVER_MODE" => match build::parsed(option, FailoverMode::parse)? {
            FailoverMode::Manual => return Ok(true),
            _ => return Err(errors::distributed_manual_only(&member.group)),
        },
        "SEEDING_MODE" => member.seeding_mode = build::parsed(option, SeedingMode::parse)?,
        other => return Err(build::syntax(other)),
    }
    Ok(false)
}

/// The member group that is here, if it may be one.
fn local_member<'a>(
    state: &'a HadrState,
    name: &str,
    members: &[DistributedMember],
    joins: bool,
) -> Result<&'a GroupState> {
    let mut here = members.iter().filter_map(|m| state.group(&m.group));
    let local = here.next().ok_or_else(errors::no_local_member)?;
    let group = local.spec.name.as_str();
    if here.next().is_some() {
        return Err(errors::distributed_on_same(name));
    }
    check::primary(state, group)?;
    if local.spec.basic {
        return Err(errors::distributed_basic(name));
    }
    if local.contained().is_some() {
        return Err(errors::distributed_contained(name));
    }
    if let Some(other) = state.distributed.iter().find(|d| fold(&d.local) == fold(group)) {
        return Err(match other.group.role {
            Role::Primary => errors::distributed_on_same(name),
            _ => errors::distributed_as_secondary(name),
        });
    }
    if joins && !local.databases.is_empty() {
        return Err(errors::distributed_not_empty(name, group));
    }
    Ok(local)
}

fn change(known: &DistributedState, action: &Action) -> Result<DistributedChange> {
    let group = &known.group;
    let name = group.spec.name.as_str();
    Ok(match action {
        Action::Drop => DistributedChange::Drop,
        Action::ModifyDistributed(written) => {
            DistributedChange::Modify { members: modified(group, written)? }
        }
        Action::Set(options) => set(group, options)?,
        Action::ForceFailoverAllowDataLoss if group.role == Role::Primary => {
            return Err(errors::already_primary(name));
        }
        Action::ForceFailoverAllowDataLoss => DistributedChange::ForceFailover,
        Action::Failover => return Err(errors::distributed_force_only(name)),
        _ => return Err(errors::distributed_refused(name)),
    })
}

fn set(group: &GroupState, options: &[Opt]) -> Result<DistributedChange> {
    let name = group.spec.name.as_str();
    let [option] = options else { return Err(build::syntax(",")) };
    Ok(match build::group_option(option)? {
        super::GroupChange::RoleSecondary if group.role != Role::Primary => {
            return Err(errors::not_primary(name));
        }
        super::GroupChange::RoleSecondary => DistributedChange::RoleSecondary,
        super::GroupChange::RequiredSynchronizedSecondaries(n) => {
            check::required_secondaries(n, group.replicas.len())?;
            DistributedChange::Required(n)
        }
        _ => return Err(errors::distributed_refused(name)),
    })
}

/// The members as they are, with what was written changed.
fn modified(group: &GroupState, written: &[ast::ReplicaSpec]) -> Result<Vec<DistributedMember>> {
    let mut members = members(group);
    for change in written {
        let name = change.name.as_str();
        let member = members.iter_mut().find(|m| fold(&m.group) == fold(name));
        let member = member.ok_or_else(|| errors::no_distributed_member(name, &group.spec.name))?;
        change.options.iter().try_for_each(|option| apply(member, option).map(drop))?;
    }
    let asynchronous = members.iter().any(|m| m.availability_mode == AvailabilityMode::Asynchronous);
    if asynchronous && group.spec.required_synchronized_secondaries > 0 {
        return Err(errors::synchronized_secondaries_required(&group.spec.name));
    }
    Ok(members)
}

/// The members of a distributed group as they are.
#[must_use]
pub fn members(group: &GroupState) -> Vec<DistributedMember> {
    let member = |r: &super::ReplicaState| DistributedMember {
        group: r.spec.server.clone(),
        listener_url: r.spec.endpoint_url.clone(),
        availability_mode: r.spec.availability_mode,
        seeding_mode: r.spec.seeding_mode,
    };
    group.replicas.iter().map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_distributed_group_is_left_to_others() {
        let state = HadrState::default();
        assert_eq!(command(&state, "ag1", &Action::Failover).unwrap(), None);
        let error = command(&state, "dag", &Action::ModifyDistributed(Vec::new())).unwrap_err();
        assert_eq!(error.number, 19510);
    }
}
