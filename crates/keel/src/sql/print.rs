//! Results as text: columns under headers, or comma-separated values.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use keel_tds::display;
use keel_tds::token::done::command;
use keel_tds::token::{Column, ColumnFlags, DoneKind, DoneStatus, ServerMessage, Token};
use keel_tds::{Data, TypeInfo};

/// How results look.
pub struct Format {
    pub separator: String,
    pub trim: bool,
    /// 0: one header; n: every n rows; below 0: none.
    pub header_rows: i64,
    /// Width of max types; 0 for whole.
    pub max_width: usize,
    /// Width of other character types; 0 for whole.
    pub fixed_width: usize,
    pub csv: bool,
    pub message_severity: i16,
    /// 0: errors, 1: all messages go to standard error.
    pub messages_to_stderr: Option<u8>,
}

/// Where results go.
pub struct Printer {
    format: Format,
    out: Box<dyn Write>,
    errors: Option<Box<dyn Write>>,
    columns: Vec<(Column, usize)>,
    rows: i64,
}

impl Printer {
    /// To standard output.
    pub fn new(format: Format) -> Printer {
        Printer {
            format,
            out: Box::new(BufWriter::new(io::stdout())),
            errors: None,
            columns: Vec::new(),
            rows: 0,
        }
    }

    /// Results go to a file, or `stdout` or `stderr` by name.
    pub fn redirect(&mut self, path: &Path) -> Result<()> {
        self.out.flush()?;
        self.out = writer(path)?;
        Ok(())
    }

    /// Error messages go to a file.
    pub fn redirect_errors(&mut self, path: &Path) -> Result<()> {
        self.errors = Some(writer(path)?);
        Ok(())
    }

    /// A line of our own.
    pub fn note(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "{text}")?;
        Ok(self.out.flush()?)
    }

    /// Everything so far becomes visible.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush()?;
        if let Some(errors) = &mut self.errors {
            errors.flush()?;
        }
        Ok(())
    }

    /// One token of a response.
    pub fn token(&mut self, token: &Token<'_>) -> Result<()> {
        match token {
            Token::Columns(columns) => self.start(columns)?,
            Token::Row(row) => self.row(row)?,
            Token::Message(m) => self.message(m)?,
            Token::Done(d) => {
                // Values given to variables are counted, too, and are no result.
                let assigned = d.command == command::SELECT && self.columns.is_empty();
                let counted = d.status.contains(DoneStatus::COUNT) && d.kind != DoneKind::Proc && !assigned;
                if counted && !self.format.csv {
                    writeln!(self.out, "\n({} rows affected)", d.rows)?;
                }
                self.columns.clear();
            }
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, columns: &[Column]) -> Result<()> {
        self.columns = columns.iter().map(|c| (c.clone(), self.width(c))).collect();
        self.rows = 0;
        if self.format.header_rows >= 0 { self.header() } else { Ok(()) }
    }

    fn width(&self, c: &Column) -> usize {
        let name = c.name.chars().count();
        let character = matches!(
            c.ty,
            TypeInfo::Char(..)
                | TypeInfo::VarChar(..)
                | TypeInfo::NChar(..)
                | TypeInfo::NVarChar(..)
                | TypeInfo::Variant(_)
        );
        let data = match display::width(&c.ty) {
            None if self.format.max_width == 0 => usize::MAX,
            None => self.format.max_width,
            Some(w) if character && self.format.fixed_width > 0 => w.min(self.format.fixed_width),
            Some(w) => w,
        };
        // NULL is shown whole.
        let least = if c.flags.contains(ColumnFlags::NULLABLE) { 4 } else { 1 };
        data.max(name).max(least)
    }

    fn header(&mut self) -> Result<()> {
        let columns = std::mem::take(&mut self.columns);
        let names: Vec<String> = columns.iter().map(|(c, _)| c.name.clone()).collect();
        if self.format.csv {
            self.csv(&names)?;
        } else {
            let dashes: Vec<String> = columns
                .iter()
                .map(|(c, w)| {
                    let name = c.name.chars().count().max(1);
                    "-".repeat(if self.format.trim || *w == usize::MAX { name } else { *w })
                })
                .collect();
            self.fields(&columns, &names, false)?;
            self.fields(&columns, &dashes, false)?;
        }
        self.columns = columns;
        Ok(())
    }

    fn row(&mut self, row: &[Data<'_>]) -> Result<()> {
        if self.format.header_rows > 0 && self.rows > 0 && self.rows % self.format.header_rows == 0 {
            writeln!(self.out)?;
            self.header()?;
        }
        self.rows += 1;
        let columns = std::mem::take(&mut self.columns);
        let values: Vec<String> =
            row.iter()
                .zip(&columns)
                .map(|(v, (c, _))| {
                    if self.format.csv && *v == Data::Null {
                        String::new()
                    } else {
                        display::format(v, &c.ty)
                    }
                })
                .collect();
        if self.format.csv {
            self.csv(&values)?
        } else {
            self.fields(&columns, &values, true)?
        }
        self.columns = columns;
        Ok(())
    }

    /// With `right`, numbers stand at the right of their columns.
    fn fields(&mut self, columns: &[(Column, usize)], values: &[String], right: bool) -> Result<()> {
        for (i, (value, (column, width))) in values.iter().zip(columns).enumerate() {
            if i > 0 {
                write!(self.out, "{}", self.format.separator)?;
            }
            let shown: String = value.chars().take(*width).collect();
            if self.format.trim {
                write!(self.out, "{}", shown.trim_end())?;
            } else if *width == usize::MAX {
                write!(self.out, "{shown}")?;
            } else if right && is_number(&column.ty) {
                write!(self.out, "{}{shown}", padding(&shown, *width))?;
            } else {
                write!(self.out, "{shown}{}", padding(&shown, *width))?;
            }
        }
        writeln!(self.out)?;
        Ok(())
    }

    fn csv(&mut self, values: &[String]) -> Result<()> {
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                write!(self.out, "{}", self.format.separator)?;
            }
            if value.contains([',', '"', '\n', '\r']) {
                write!(self.out, "\"{}\"", value.replace('"', "\"\""))?;
            } else {
                write!(self.out, "{value}")?;
            }
        }
        writeln!(self.out)?;
        Ok(())
    }

    fn message(&mut self, m: &ServerMessage) -> Result<()> {
        // As with counts of rows: a file of rows has no lines about the session's database and language.
        let of_session = matches!(m.number, 5701 | 5703) && m.class == 0;
        if i16::from(m.class) < self.format.message_severity || self.format.csv && of_session {
            return Ok(());
        }
        let text = if m.class > 10 {
            let procedure =
                if m.procedure.is_empty() { String::new() } else { format!(", Procedure {}", m.procedure) };
            format!(
                "Msg {}, Level {}, State {}, Server {}{procedure}, Line {}\n{}",
                m.number, m.class, m.state, m.server, m.line, m.text
            )
        } else {
            m.text.clone()
        };
        let to_stderr = match self.format.messages_to_stderr {
            Some(1) => true,
            Some(_) => m.class > 10,
            None => false,
        };
        if to_stderr {
            self.out.flush()?;
            eprintln!("{text}");
        } else if let Some(errors) = self.errors.as_mut().filter(|_| m.class > 10) {
            writeln!(errors, "{text}")?;
        } else {
            writeln!(self.out, "{text}")?;
        }
        Ok(())
    }
}

fn padding(shown: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(shown.chars().count()))
}

fn is_number(ty: &TypeInfo) -> bool {
    use keel_tds::type_info::Fixed;
    matches!(
        ty,
        TypeInfo::IntN(_)
            | TypeInfo::FloatN(_)
            | TypeInfo::MoneyN(_)
            | TypeInfo::Decimal { .. }
            | TypeInfo::Fixed(
                Fixed::Int1
                    | Fixed::Int2
                    | Fixed::Int4
                    | Fixed::Int8
                    | Fixed::Float4
                    | Fixed::Float8
                    | Fixed::Money4
                    | Fixed::Money8
            )
    )
}

fn writer(path: &Path) -> Result<Box<dyn Write>> {
    Ok(match path.to_str() {
        Some("stdout" | "STDOUT") => Box::new(io::stdout()),
        Some("stderr" | "STDERR") => Box::new(io::stderr()),
        _ => Box::new(BufWriter::new(
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?,
        )),
    })
}
