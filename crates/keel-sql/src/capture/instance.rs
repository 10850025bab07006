//! A capture instance as it was asked for, and what is made for it in the database, as T-SQL.

use super::error;
use crate::catalog::fold;
use keel_parser::to_text::quote_name;
use keel_query::catalog::{ColumnDef, IndexDef, TableDef};
use keel_types::SqlType;
use keel_types::error::Result;
use std::fmt::Write as _;
use std::sync::Arc;

/// Columns that a change table has beside the captured ones.
const RESERVED: [&str; 6] =
    ["__$start_lsn", "__$end_lsn", "__$seqval", "__$operation", "__$update_mask", "__$command_id"];
/// Columns of an index that tells rows apart.
const INDEX_COLUMNS_MAX: usize = 14;
/// Captured columns: their mask has 128 bytes.
const COLUMNS_MAX: usize = 1024;

/// A capture instance to be made.
pub(super) struct Instance {
    pub name: String,
    /// Schema of the source.
    pub schema: String,
    pub source: Arc<TableDef>,
    /// Positions of the captured columns in the source, in its order.
    pub columns: Vec<usize>,
    /// Position among the source's indexes of the one that tells rows apart.
    pub index: Option<usize>,
    /// `@supports_net_changes`
    pub net: bool,
    /// Who may read the changes; everybody without.
    pub role: Option<String>,
    /// `@filegroup_name`: a name.
    pub filegroup: Option<String>,
    /// `@allow_partition_switch`
    pub partition_switch: bool,
}

/// What was made for an instance, by name.
pub(crate) struct CaptureNames(String);

impl CaptureNames {
    /// Those of a change table; `None` of a table that is none.
    pub(crate) fn of(change_table: &TableDef) -> Option<CaptureNames> {
        change_table.name.strip_suffix("_CT").map(|name| CaptureNames(name.to_owned()))
    }

    /// The instance's.
    pub(crate) fn instance(&self) -> &str {
        &self.0
    }

    /// Drops all of it.
    pub(crate) fn drop_objects(&self) -> String {
        let quoted = |before: &str, after: &str| quote_name(&format!("{before}{}{after}", self.0));
        format!(
            "declare @change_table int = object_id({table})
drop function if exists cdc.{all}
drop function if exists cdc.{net}
delete cdc.captured_columns where object_id = @change_table
delete cdc.index_columns where object_id = @change_table
delete cdc.ddl_history where object_id = @change_table
delete cdc.change_tables where object_id = @change_table
drop table if exists cdc.{change_table}",
            all = quoted("fn_cdc_get_all_changes_", ""),
            net = quoted("fn_cdc_get_net_changes_", ""),
            table = literal(&format!("cdc.{}", quoted("", "_CT"))),
            change_table = quoted("", "_CT"),
        )
    }
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn optional(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), literal)
}

/// Names in a list with commas between, some of them in brackets or quotes: error 22965.
pub(super) fn names(list: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut chars = list.chars().peekable();
    let mut name = String::new();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        let close = match c {
            '[' if name.trim().is_empty() => ']',
            '"' if name.trim().is_empty() => '"',
            ',' => {
                names.push(if quoted {
                    std::mem::take(&mut name)
                } else {
                    std::mem::take(&mut name).trim().to_owned()
                });
                quoted = false;
                continue;
            }
            c => {
                if !(quoted && c.is_whitespace()) {
                    name.push(c);
                }
                continue;
            }
        };
        name.clear();
        quoted = true;
        loop {
            match chars.next() {
                Some(c) if c == close && chars.peek() == Some(&close) => {
                    chars.next();
                    name.push(close);
                }
                Some(c) if c == close => break,
                Some(c) => name.push(c),
                None => {
                    let text = "A quoted column in the column list is not properly terminated. Verify that columns are correctly delimited and retry the operation. For more information, see 'Delimited Identifiers' in Books Online.";
                    return Err(error(22965, text.to_owned()));
                }
            }
        }
    }
    names.push(if quoted { name } else { name.trim().to_owned() });
    Ok(names)
}

/// The mask of a column: a change is not shown to whom its row is not.
fn masked(c: &ColumnDef) -> String {
    let mask = c.mask.as_ref().map(|mask| literal(&mask.text()));
    mask.map_or_else(String::new, |mask| format!(" masked with (function = {mask})"))
}

/// The declaration of a captured column in a change table.
fn declared(c: &ColumnDef) -> String {
    let ty = if c.ty == SqlType::RowVersion { SqlType::Binary(8) } else { c.ty };
    let collate = if ty.is_string() && !ty.is_xml() {
        format!(" collate {}", c.collation.name())
    } else {
        String::new()
    };
    format!("{} {ty}{collate}{} null", quote_name(&c.name), masked(c))
}

impl Instance {
    /// Looks for the captured columns of `@captured_column_list`: all without one. Errors 22925, 22942, 22943 and 22975.
    pub fn choose_columns(&mut self, list: Option<&str>) -> Result<()> {
        let columns = &self.source.columns;
        let mut chosen: Vec<usize> = match list {
            None => (0..columns.len()).collect(),
            Some(list) => {
                let place = |name: &String| columns.iter().position(|c| fold(&c.name) == fold(name));
                let places: Option<Vec<usize>> = names(list)?.iter().map(place).collect();
                places.ok_or_else(|| {
                    error(
                        22942,
                        format!(
                            "Columns specified in the captured column list could not be mapped to columns in source table '{}.{}'. Verify that the columns specified in the parameter @captured_column_list are delimited properly and match columns in the source table.",
                            self.schema, self.source.name
                        ),
                    )
                })?
            }
        };
        chosen.sort_unstable();
        chosen.dedup();
        let reserved = |at: &usize| RESERVED.iter().any(|name| fold(name) == fold(&columns[*at].name));
        if chosen.iter().any(reserved) {
            return Err(error(
                22975,
                format!(
                    "Source table '{}' contains one of the following reserved column names: __$start_lsn, __$end_lsn, __$seqval, __$operation, and __$update_mask. To enable Change Data Capture for this table, specify a captured column list and ensure that these columns are excluded from the list.",
                    self.source.name
                ),
            ));
        }
        if chosen.len() > COLUMNS_MAX {
            return Err(error(
                22925,
                format!(
                    "The number of columns captured by capture instance '{}' exceeds the maximum allowed number: {COLUMNS_MAX}. Use the @captured_columns_list parameter to specify a subset of the columns less than or equal to the maximum allowed and resubmit the request.",
                    self.name
                ),
            ));
        }
        if self.key().any(|at| !chosen.contains(&at)) {
            let text = "Columns used to uniquely identify a row for net change tracking must be included in the list of captured columns. Add either the primary key columns of the source table, or the columns defined for the index specified in the parameter @index_name to the list of captured columns and retry the operation.";
            return Err(error(22943, text.to_owned()));
        }
        self.columns = chosen;
        Ok(())
    }

    /// Looks for the index that tells rows apart: `@index_name`, or the primary key's. Errors 22928, 22929, 22838, 22865, 22939 and 22980.
    pub fn choose_index(&mut self, name: Option<&str>) -> Result<()> {
        let (schema, table) = (&self.schema, &self.source.name);
        let refuse = |number, text: String| Err(error(number, text));
        self.index = match name {
            Some(name) => Some(self.named_index(name)?),
            None => self.source.indexes.iter().position(|i| i.is_primary_key),
        };
        if self.net && self.index.is_none() {
            let text = "The parameter @supports_net_changes is set to 1, but the source table does not have a primary key defined and no alternate unique index has been specified.";
            return refuse(22939, text.to_owned());
        }
        let index = self.index.map(|at| &self.source.indexes[at]);
        if self.net
            && let Some(index) = index.filter(|i| i.key.len() > INDEX_COLUMNS_MAX)
        {
            return refuse(
                22865,
                format!(
                    "The number of columns in the index '{}', used as the unique row identifier to support net changes for table '{schema}'.'{table}', exceeds the limit of 14 columns. Set the parameter @supports_net_changes to 0 or use the @index_name parameter to identify a unique index with fewer than 15 columns as the unique row identifier and resubmit the request.",
                    index.name
                ),
            );
        }
        Ok(())
    }

    /// Position of the index of a name, which must tell rows apart.
    fn named_index(&self, name: &str) -> Result<usize> {
        let (schema, table) = (&self.schema, &self.source.name);
        let refuse = |number, text: String| Err(error(number, text));
        let Some(at) = self.source.indexes.iter().position(|i| fold(&i.name) == fold(name)) else {
            return refuse(
                22928,
                format!(
                    "Index name '{name}' is not an index for table '{schema}.{table}'. Specify a valid index name for the table."
                ),
            );
        };
        let index = &self.source.indexes[at];
        if !index.unique {
            return refuse(
                22929,
                format!(
                    "Index '{name}' must be either a primary key or a unique index for table '{schema}.{table}'. Specify an index that meets at least one of these requirements."
                ),
            );
        }
        if index.disabled {
            return refuse(
                22980,
                format!(
                    "The unique index '{name}' on table '{schema}.{table}' is disabled and cannot be used as a unique index by Change Data Capture. Enable the index."
                ),
            );
        }
        if self.columns_of(index).any(|at| self.source.columns[at].nullable) {
            return refuse(
                22838,
                format!(
                    "All columns of a CDC unique index must be defined as NOT NULL. Index '{name}' selected as the CDC unique index for source table '{schema}.{table}' does not meet this requirement. Define all columns of the selected index as NOT NULL or select another unique index as the CDC index and resubmit the request."
                ),
            );
        }
        Ok(at)
    }

    fn columns_of(&self, index: &IndexDef) -> impl Iterator<Item = usize> {
        index.key.iter().filter_map(|part| self.source.column_index(part.column_id))
    }

    /// Positions in the source of the columns that tell rows apart.
    fn key(&self) -> impl Iterator<Item = usize> {
        self.index.map(|at| self.columns_of(&self.source.indexes[at])).into_iter().flatten()
    }

    fn captured(&self) -> impl Iterator<Item = &ColumnDef> {
        self.columns.iter().map(|at| &self.source.columns[*at])
    }

    fn change_table(&self) -> String {
        quote_name(&format!("{}_CT", self.name)).to_string()
    }

    /// The change table, the functions over it, who may read them, and what `cdc`'s tables say of them: batches, to be run in one
    /// transaction.
    pub fn batches(&self, jobs: bool) -> Vec<String> {
        let mut batches = vec![self.create_table(), self.create_all_changes()];
        if self.net {
            batches.push(self.create_net_changes());
        }
        batches.push(self.grants());
        batches.push(self.describe());
        if jobs {
            batches.push("exec sys.sp_keel_cdc_job N'add', N'capture'".to_owned());
            batches.push("exec sys.sp_keel_cdc_job N'add', N'cleanup'".to_owned());
        }
        batches
    }

    fn create_table(&self) -> String {
        let columns: Vec<String> = self.captured().map(declared).collect();
        let (table, columns) = (self.change_table(), columns.join(", "));
        let index = quote_name(&format!("{}_CT_clustered_idx", self.name));
        format!(
            "create table cdc.{table} ([__$start_lsn] binary(10) not null, [__$end_lsn] binary(10) null, [__$seqval] binary(10) not null, [__$operation] int not null, [__$update_mask] varbinary(128) null, {columns}, [__$command_id] int null)
create unique clustered index {index} on cdc.{table} ([__$start_lsn], [__$command_id], [__$seqval], [__$operation])"
        )
    }

    /// Names of the captured columns behind an alias.
    fn listed(&self, alias: &str) -> String {
        self.captured().map(|c| format!(", {alias}{}", quote_name(&c.name))).collect()
    }

    fn check(&self, net: bool) -> String {
        format!(
            "sys.fn_cdc_check_parameters({}, @from_lsn, @to_lsn, lower(rtrim(ltrim(@row_filter_option))), {})",
            literal(&self.name),
            i32::from(net)
        )
    }

    fn nulls(&self) -> String {
        self.captured().map(|c| format!(", null as {}", quote_name(&c.name))).collect()
    }

    fn create_all_changes(&self) -> String {
        let name = quote_name(&format!("fn_cdc_get_all_changes_{}", self.name));
        format!(
            "create function cdc.{name} (@from_lsn binary(10), @to_lsn binary(10), @row_filter_option nvarchar(30))
returns table
return
select null as [__$start_lsn], null as [__$seqval], null as [__$operation], null as [__$update_mask]{nulls}
where {check} = 0
union all
select t.[__$start_lsn], t.[__$seqval], t.[__$operation], t.[__$update_mask]{columns}
from cdc.{table} t with (readcommitted)
where t.[__$start_lsn] >= @from_lsn and t.[__$start_lsn] <= @to_lsn
    and (t.[__$operation] <> 3 or lower(rtrim(ltrim(@row_filter_option))) = N'all update old')",
            nulls = self.nulls(),
            check = self.check(false),
            columns = self.listed("t."),
            table = self.change_table(),
        )
    }

    fn create_net_changes(&self) -> String {
        let name = quote_name(&format!("fn_cdc_get_net_changes_{}", self.name));
        let key: Vec<String> =
            self.key().map(|at| quote_name(&self.source.columns[at].name).to_string()).collect();
        let parts: Vec<String> = key.iter().map(|k| format!("t.{k}")).collect();
        let same: Vec<String> = key.iter().map(|k| format!("u.{k} = n.{k}")).collect();
        format!(
            "create function cdc.{name} (@from_lsn binary(10), @to_lsn binary(10), @row_filter_option nvarchar(30))
returns table
return
select null as [__$start_lsn], null as [__$operation], null as [__$update_mask]{nulls}
where {check} = 0
union all
select n.[__$start_lsn],
    case when lower(rtrim(ltrim(@row_filter_option))) = N'all with merge' and n.[__$net] <> 1 then 5 else n.[__$net] end,
    case when lower(rtrim(ltrim(@row_filter_option))) = N'all with mask' and n.[__$net] = 4 then
        (select {mask} from cdc.{table} u with (readcommitted)
        where {same} and u.[__$start_lsn] >= @from_lsn and u.[__$start_lsn] <= @to_lsn and u.[__$operation] in (2, 4)) end{columns}
from (
    select l.*, case when l.[__$operation] = 1 then case when l.[__$first] = 2 then 0 else 1 end
        when l.[__$first] = 2 then 2 else 4 end as [__$net]
    from (
        select t.[__$start_lsn], t.[__$operation]{of_table},
            row_number() over (partition by {key} order by t.[__$start_lsn] desc, t.[__$seqval] desc, t.[__$operation] desc) as [__$last],
            first_value(t.[__$operation]) over (partition by {key} order by t.[__$start_lsn], t.[__$seqval], t.[__$operation]) as [__$first]
        from cdc.{table} t with (readcommitted)
        where t.[__$start_lsn] >= @from_lsn and t.[__$start_lsn] <= @to_lsn and t.[__$operation] <> 3) l
    where l.[__$last] = 1) n
where n.[__$net] <> 0",
            nulls = self.nulls(),
            check = self.check(true),
            mask = self.joined_masks(),
            table = self.change_table(),
            same = same.join(" and "),
            columns = self.listed("n."),
            of_table = self.listed("t."),
            key = parts.join(", "),
        )
    }

    /// The masks of several rows `u` in one: a bit is set when it is in one of them.
    fn joined_masks(&self) -> String {
        let bytes = self.columns.len().div_ceil(8);
        let byte = |n: usize| {
            let bits = self.columns.len().min((bytes - n) * 8) - (bytes - 1 - n) * 8;
            let bit = |b: usize| {
                format!("max(convert(int, substring(u.[__$update_mask], {}, 1)) & {})", n + 1, 1 << b)
            };
            let bits: Vec<String> = (0..bits).map(bit).collect();
            format!("convert(binary(1), {})", bits.join(" + "))
        };
        let bytes: Vec<String> = (0..bytes).map(byte).collect();
        bytes.join(" + ")
    }

    fn grants(&self) -> String {
        let mut text = String::new();
        let to = match &self.role {
            None => "public".to_owned(),
            Some(role) => {
                let (name, role) = (literal(role), quote_name(role));
                let _ = writeln!(
                    text,
                    "if database_principal_id({name}) is null exec ({})",
                    literal(&format!("create role {role}"))
                );
                role.to_string()
            }
        };
        let kinds = if self.net { &["all", "net"][..] } else { &["all"] };
        for kind in kinds {
            let name = quote_name(&format!("fn_cdc_get_{kind}_changes_{}", self.name));
            let _ = writeln!(text, "grant select on cdc.{name} to {to}");
        }
        text
    }

    /// Rows of `cdc`'s tables, and the instance's part of the source's definition.
    fn describe(&self) -> String {
        let index = self.index.map(|at| &self.source.indexes[at]);
        let mut text = format!(
            "declare @change_table int = object_id({table})
insert cdc.change_tables (object_id, version, source_object_id, capture_instance, supports_net_changes, has_drop_pending, role_name, index_name, filegroup_name, create_date, partition_switch)
values (@change_table, 0, {source}, {name}, {net}, null, {role}, {index}, {filegroup}, getdate(), {switch})
",
            table = literal(&format!("cdc.{}", self.change_table())),
            source = self.source.object_id,
            name = literal(&self.name),
            net = i32::from(self.net),
            role = optional(self.role.as_deref()),
            index = optional(index.map(|i| i.name.as_str())),
            filegroup = optional(self.filegroup.as_deref()),
            switch = i32::from(self.partition_switch),
        );
        for (n, c) in self.captured().enumerate() {
            let _ = writeln!(
                text,
                "insert cdc.captured_columns values (@change_table, {}, {}, {}, {}, {}, {})",
                literal(&c.name),
                c.column_id,
                literal(c.ty.name()),
                n + 1,
                i32::from(c.computed.is_some()),
                optional(c.mask.as_ref().map(|mask| mask.text()).as_deref())
            );
        }
        for (n, at) in self.key().enumerate() {
            let c = &self.source.columns[at];
            let _ = writeln!(
                text,
                "insert cdc.index_columns values (@change_table, {}, {}, {})",
                literal(&c.name),
                n + 1,
                c.column_id
            );
        }
        let ids: Vec<String> = self.captured().map(|c| c.column_id.to_string()).collect();
        let _ = writeln!(
            text,
            "exec sys.sp_keel_cdc_attach {}, @change_table, '{}', {}, {}",
            self.source.object_id,
            ids.join(","),
            index.map_or_else(|| "null".to_owned(), |i| i.index_id.to_string()),
            i32::from(self.partition_switch)
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn lists_of_columns() {
        let check = |list: &str, expected: &[&str]| assert_eq!(names(list).unwrap(), expected, "{list}");
        check("a, b ,c", &["a", "b", "c"]);
        check("[a], [b c] , \"d\"\"e\"", &["a", "b c", "d\"e"]);
        check("[a]]b],[c,d]", &["a]b", "c,d"]);
        assert_eq!(names("[a, b").unwrap_err().number, 22965);
    }
}
