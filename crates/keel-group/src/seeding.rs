//! Seeding: a new copy of a database over the connection.

use crate::peer::Peer;
use crate::shell::Shared;
use keel_cluster::{Event, GroupDatabaseId, InstanceId};
use keel_transport::SeedChunk;
use std::sync::Arc;

/// Copies being made.
#[derive(Default)]
pub(crate) struct Seedings {}

impl Seedings {
    pub(crate) fn is_target(&self, _database: GroupDatabaseId) -> bool {
        false
    }

    pub(crate) fn peer_gone(&self, _peer: InstanceId) {}
}

impl Shared {
    pub(crate) fn seed(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        self.give_up_seeding(peer, database);
    }

    pub(crate) fn expect_seed(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        self.give_up_seeding(peer, database);
    }

    fn give_up_seeding(self: &Arc<Self>, peer: InstanceId, database: GroupDatabaseId) {
        let shared = Arc::clone(self);
        self.work.give(keel_cluster::GroupId(uuid::Uuid::nil()), move || {
            shared.note(Some(database), "The database is not here and cannot be copied; bring its files.");
            shared.step(Event::SeedEnded { peer, database, completed: false });
        });
    }

    pub(crate) fn seeding_message(self: &Arc<Self>, _peer: &Arc<Peer>, _body: &[u8]) -> bool {
        false
    }

    pub(crate) fn seed_chunk(self: &Arc<Self>, _peer: &Arc<Peer>, _chunk: SeedChunk) {}
}
