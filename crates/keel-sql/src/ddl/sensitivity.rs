//! ADD and DROP SENSITIVITY CLASSIFICATION: what an organisation calls the contents of its columns. It is kept with the column, goes where
//! that goes, and nothing here acts on it: whoever reports or guards data reads `sys.sensitivity_classifications`.

use crate::errors;
use crate::program::Program;
use crate::run::Runner;
use crate::views::same;
use keel_parser::ast::{self, Opt};
use keel_query::catalog::Sensitivity;
use keel_query::errors::syntax_near;
use keel_types::error::Result;

/// Ranks with their numbers, as the product has them.
pub(crate) const RANKS: [(&str, u8); 5] =
    [("NONE", 0), ("LOW", 10), ("MEDIUM", 20), ("HIGH", 30), ("CRITICAL", 40)];
/// Longest text, in UTF-16 code units.
const TEXT_UNITS_MAX: usize = 128;

impl Runner<'_> {
    /// Says it of all columns or, by an error, of none. What was said of one before is forgotten.
    ///
    /// # Errors
    /// 102 for an option that there is not, 103 for a longer text than 128 characters, 1088 and 1911 for what is no column of a table.
    pub(super) fn classify_columns(
        &mut self,
        program: &Program,
        c: &ast::SensitivityClassification,
    ) -> Result<()> {
        let said = c.options.as_deref().map(said).transpose()?;
        for (name, column) in &c.columns {
            let table = crate::ddl::find_table(&self.ddl_scope(program), name);
            let table = table.filter(|t| t.database == self.info.current_database().id);
            let table = table.ok_or_else(|| errors::no_table_for_index(name))?;
            let at = table.columns.iter().position(|c| same(&c.name, &column.text));
            let at = at.ok_or_else(|| errors::no_column_in_table(&column.text))?;
            if table.columns[at].sensitivity != said {
                let mut new = (*table).clone();
                new.columns[at].sensitivity.clone_from(&said);
                self.replace_table(new)?;
            }
        }
        Ok(())
    }
}

fn said(options: &[Opt]) -> Result<Sensitivity> {
    let mut said = Sensitivity::default();
    for option in options {
        let value = option.value.text().unwrap_or_default();
        if value.encode_utf16().count() > TEXT_UNITS_MAX {
            return Err(errors::text_too_long(value.chars().take(TEXT_UNITS_MAX).collect::<String>()));
        }
        let text = Some(value.to_owned());
        match option.name.as_str() {
            "LABEL" => said.label = text,
            "LABEL_ID" => said.label_id = text,
            "INFORMATION_TYPE" => said.information_type = text,
            "INFORMATION_TYPE_ID" => said.information_type_id = text,
            "RANK" => {
                let rank = RANKS.iter().find(|(name, _)| value.eq_ignore_ascii_case(name));
                said.rank = Some(rank.ok_or_else(|| syntax_near(value))?.1);
            }
            name => return Err(syntax_near(name)),
        }
    }
    Ok(said)
}
