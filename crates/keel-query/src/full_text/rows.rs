//! The rows that CONTAINSTABLE and FREETEXTTABLE stand for: keys of the documents that a search finds, with their ranks.

use super::{Crawl, FullTextDef, Reader, StoplistDef, language_of};
use crate::bind::ArcTable;
use crate::bind::mask::{self, Mask};
use crate::context::ExecCtx;
use crate::errors::{self, Error, Result};
use crate::exec::error::txn_error;
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_base::DatabaseId;
use keel_node::{Isolation, ReadView};
use keel_text::condition::{self, ConditionError};
use keel_text::language;
use keel_text::search::{self, Column, Search};
use keel_text::terms::Reading;
use keel_types::{SqlType, Value, column};
use std::sync::Arc;

/// Characters that an error tells of a condition that is too long.
const BEYOND_MAX: usize = 100;

/// What a search looks into, as the statement names it.
pub struct Searched {
    /// The table.
    pub table: ArcTable,
    /// Its full-text index.
    pub def: FullTextDef,
    /// The index's stop list, when it has one that is not the system's.
    pub stoplist: Option<Arc<StoplistDef>>,
    /// CONTAINS; otherwise FREETEXT.
    pub contains: bool,
    /// `column_id`s.
    pub columns: Vec<i32>,
}

/// See the module. Its arguments are the condition, a language (NULL for that of each column) and the number of rows wanted (NULL for all).
pub struct FullTextTable {
    searched: Searched,
    columns: [VirtualColumn; 2],
    key_type: SqlType,
}

impl FullTextTable {
    /// Errors: 7601 without a key, which no index is.
    pub fn new(searched: Searched) -> Result<FullTextTable> {
        let key = searched.def.key_column(&searched.table);
        let key = key.ok_or_else(|| errors::not_full_text_indexed(&searched.table.name))?;
        let key = &searched.table.columns[key];
        let columns = [
            VirtualColumn { name: "KEY".to_owned(), ty: key.ty, nullable: false, collation: key.collation },
            VirtualColumn { nullable: false, ..VirtualColumn::new("RANK", SqlType::Int) },
        ];
        let key_type = key.ty;
        Ok(FullTextTable { searched, columns, key_type })
    }

    fn search(&self, lcid: Option<i32>, transform_noise: bool) -> Search {
        let of = &self.searched;
        let column = |id: &i32| {
            // Words are found by the stems that they were indexed by: the query's language says which are stop words.
            let own = of.def.column(*id).map_or(language::NEUTRAL, |c| c.language);
            let reading = of.def.reading(lcid.unwrap_or(own), of.stoplist.as_deref());
            Column { id: *id, reading: Reading { language: language_of(own), ..reading } }
        };
        Search { columns: of.columns.iter().map(column).collect(), transform_noise }
    }

    /// Keys and ranks.
    fn rows(
        &self,
        ctx: &mut ExecCtx<'_>,
        view: &ReadView,
        text: &str,
        lcid: Option<i32>,
    ) -> Result<Vec<(Value, i32)>> {
        let of = &self.searched;
        let session = ctx.session;
        let search = self.search(lcid, session.transforms_noise_words());
        let txn = ctx.txns.transaction(of.table.database)?;
        let crawl = Crawl::read(txn, view, &of.def.trees);
        let crawl = crawl.map_err(|e| txn_error(&e, session.session_id()))?;
        let mut reader = Reader::new(txn, view, &of.def.trees, crawl.documents, session);
        let found = match of.contains {
            true => {
                let condition = condition::parse(text).map_err(|e| condition_error(&e, text))?;
                search.contains(&condition, &mut reader)?
            }
            false => {
                condition::check_length(text).map_err(|e| condition_error(&e, text))?;
                search.free(text, &mut reader)?
            }
        };
        if found.noise {
            session.notice(&errors::noise_words());
        }
        let average = crawl.average();
        let mut rows = Vec::with_capacity(found.documents.len());
        for (document, score) in found.documents {
            session.look_up()?;
            let row = reader.document(document, |_, value, words| {
                (column::decode(value, &self.key_type), search::rank(score, words, average))
            })?;
            rows.extend(row);
        }
        Ok(rows)
    }
}

/// Errors 7630, 7632 and 7645.
#[must_use]
pub fn condition_error(e: &ConditionError, condition: &str) -> Error {
    match e {
        ConditionError::Empty => errors::empty_search(),
        ConditionError::Syntax(near) => errors::search_syntax(near, condition),
        ConditionError::Long => {
            let end: String = condition.chars().skip(condition::LENGTH_MAX).take(BEYOND_MAX).collect();
            let told: String = condition.chars().take(BEYOND_MAX).collect();
            errors::search_syntax(&end, &told)
        }
        ConditionError::Weight => errors::search_weight(),
    }
}

/// The LCID that a language term stands for. Errors 7678 and 7696.
fn lcid_of(term: &Value) -> Result<Option<i32>> {
    match term {
        Value::Null => Ok(None),
        Value::Str(name) => match language::by_name(name) {
            Some(language) => Ok(Some(language.lcid)),
            None => Err(errors::language_alias(name)),
        },
        Value::Int(lcid) => {
            let known = i32::try_from(*lcid).ok().and_then(language::by_lcid);
            known.map(|language| Some(language.lcid)).ok_or_else(errors::locale)
        }
        Value::Bytes(bytes) if bytes.len() <= 4 => {
            let lcid = bytes.iter().fold(0_i64, |n, byte| n << 8 | i64::from(*byte));
            lcid_of(&Value::Int(lcid))
        }
        _ => Err(errors::locale()),
    }
}

impl VirtualTable for FullTextTable {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn mask(&self, column: usize) -> Option<Mask> {
        let of = &self.searched;
        let key = of.def.key_column(&of.table).filter(|_| column == 0)?;
        mask::of_table(&of.table).into_iter().find(|(at, _)| *at == key).map(|(_, mask)| mask)
    }

    /// Searches find little, most of the time.
    fn row_count_estimate(&self) -> u64 {
        100
    }

    fn reads(&self) -> Option<DatabaseId> {
        Some(self.searched.table.database)
    }

    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let view = ctx.txns.transaction(self.searched.table.database)?.view_as(Isolation::ReadCommitted);
        self.open_at(ctx, args, view)
    }

    fn open_at(&self, ctx: &mut ExecCtx<'_>, args: &[Value], view: ReadView) -> Result<RowSource> {
        let text = match args.first() {
            Some(Value::Str(text)) if !text.trim().is_empty() => text.clone(),
            _ => return Err(errors::empty_search()),
        };
        let lcid = lcid_of(args.get(1).unwrap_or(&Value::Null))?;
        let top = match args.get(2) {
            Some(Value::Int(n)) => Some(usize::try_from(*n).map_err(|_| errors::top_by_rank(*n))?),
            _ => None,
        };
        let mut rows = self.rows(ctx, &view, &text, lcid)?;
        if let Some(top) = top {
            rows.sort_by_key(|(_, rank)| std::cmp::Reverse(*rank));
            rows.truncate(top);
        }
        let row = |(key, rank): (Value, i32)| Ok(vec![key, Value::Int(rank.into())]);
        Ok(Box::new(rows.into_iter().map(row)))
    }
}
