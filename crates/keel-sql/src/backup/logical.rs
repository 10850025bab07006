//! Logical backup devices: names for files, which `BACKUP … TO name` takes (`sp_addumpdevice`). Rows of `master`.

use super::errors;
use crate::catalog::{fold, object_class};
use crate::engine::Engine;
use keel_types::error::Result;
use serde::{Deserialize, Serialize};

/// A name and the file that it stands for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LogicalDevice {
    pub id: i32,
    pub name: String,
    /// As it was given: a relative one is below the directory of backups.
    pub path: String,
}

impl Engine {
    /// All, in the order in which they were added.
    pub(crate) fn logical_devices(&self) -> Result<Vec<LogicalDevice>> {
        self.master_rows(object_class::BACKUP_DEVICE)
    }

    /// The one of that name.
    pub(crate) fn logical_device(&self, name: &str) -> Result<Option<LogicalDevice>> {
        Ok(self.logical_devices()?.into_iter().find(|device| fold(&device.name) == fold(name)))
    }

    /// Adds one; 15026 when the name is taken.
    pub(crate) fn add_logical_device(&self, name: String, path: String) -> Result<()> {
        if self.logical_device(&name)?.is_some() {
            return Err(errors::device_exists(name));
        }
        let id = self.last_master_row(object_class::BACKUP_DEVICE)?.unwrap_or(0) + 1;
        self.put_master_row(object_class::BACKUP_DEVICE, id, Some(&LogicalDevice { id, name, path }))
    }

    /// Drops one, not its file, and says which it was; 15012 when there is none of that name.
    pub(crate) fn drop_logical_device(&self, name: &str) -> Result<LogicalDevice> {
        let device = self.logical_device(name)?.ok_or_else(|| errors::device_missing(name))?;
        self.put_master_row::<LogicalDevice>(object_class::BACKUP_DEVICE, device.id, None)?;
        Ok(device)
    }
}
