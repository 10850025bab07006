//! The procedures behind cursors of the API (MS-TDS 2.2.6.6 numbers 1 to 9).

use super::{Outcome, number, ok, string};
use crate::api_cursor::{FetchKind, operation, scroll};
use crate::errors;
use crate::run::{Argument, Halt, OpenCursor, Returned, Runner, bad_handle};
use crate::session::prepared::Statement;
use keel_types::{SqlType, Value};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Halt>;

fn needs(procedure: &str, args: &[Argument], least: usize) -> Result<()> {
    if args.len() < least { Err(errors::cursor_parameters(procedure).into()) } else { Ok(()) }
}

fn cursor(runner: &Runner<'_>, procedure: &str, args: &[Argument]) -> Result<u64> {
    let handle = number(args, "cursor", 0).unwrap_or(0);
    let found = runner.info.cursors.borrow().by_handle(handle);
    found.ok_or_else(|| bad_handle(procedure, handle).into())
}

/// Those of `all` that the caller wants back.
fn outputs(args: &[Argument], all: &[(usize, i64)]) -> Vec<(usize, Value, SqlType)> {
    let wanted = all.iter().filter(|(at, _)| args.get(*at).is_some_and(|a| a.output));
    wanted.map(|(at, n)| (*at, Value::Int(*n), SqlType::Int)).collect()
}

/// Opens; `at` holds the positions of cursor, scrollopt, ccopt and rowcount.
fn open(
    runner: &mut Runner<'_>,
    request: &OpenCursor<'_>,
    args: &[Argument],
    at: [usize; 4],
    skip: usize,
) -> Outcome {
    let opened = runner.open_api_cursor(request)?;
    let own = [
        (at[0], opened.handle.into()),
        (at[1], opened.scroll.into()),
        (at[2], opened.concurrency.into()),
        (at[3], opened.rows),
    ];
    let mut returned = opened.returned;
    for (position, _, _) in &mut returned.outputs {
        *position += skip;
    }
    returned.outputs.splice(0..0, outputs(args, &own));
    returned.status = opened.status;
    Ok(returned)
}

fn options(args: &[Argument], first: usize) -> (i32, i32, i64) {
    let scroll = number(args, "scrollopt", first).unwrap_or(0) as i32;
    let concurrency = number(args, "ccopt", first + 1).unwrap_or(0) as i32;
    (scroll, concurrency, number(args, "rowcount", first + 2).unwrap_or(0))
}

/// `sp_cursoropen @cursor OUTPUT, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT, @params, values…`
pub(super) fn sp_cursoropen(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const NAME: &str = "sp_cursoropen";
    needs(NAME, args, 2)?;
    let (scroll, concurrency, rows) = options(args, 2);
    let parameterized = scroll & scroll::PARAMETERIZED != 0;
    let declarations =
        if parameterized { string(args, "paramdef", 5).unwrap_or_default() } else { String::new() };
    let skip = args.len().min(if parameterized { 6 } else { 5 });
    let request = OpenCursor {
        procedure: NAME,
        text: string(args, "stmt", 1).unwrap_or_default().into(),
        declarations: declarations.into(),
        values: &args[skip..],
        scroll,
        concurrency,
        rows,
    };
    open(runner, &request, args, [0, 2, 3, 4], skip)
}

fn prepare(runner: &mut Runner<'_>, args: &[Argument], params: usize) -> Result<(i32, Arc<str>, Arc<str>)> {
    let declarations: Arc<str> = string(args, "params", params).unwrap_or_default().into();
    let text: Arc<str> = string(args, "stmt", params + 1).unwrap_or_default().into();
    // Errors in the text are found now.
    runner.query_of_cursor(&text, &declarations)?;
    let statement = Statement::Text(Arc::clone(&text), Arc::clone(&declarations));
    let handle = runner.info.prepared.borrow_mut().add(statement);
    Ok((handle, text, declarations))
}

/// `sp_cursorprepare @handle OUTPUT, @params, @stmt, @options, @scrollopt OUTPUT, @ccopt OUTPUT`
pub(super) fn sp_cursorprepare(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const RETURN_METADATA: i64 = 1;
    needs("sp_cursorprepare", args, 4)?;
    let (handle, text, declarations) = prepare(runner, args, 1)?;
    if number(args, "options", 3).unwrap_or(0) & RETURN_METADATA != 0 {
        let query = runner.query_of_cursor(&text, &declarations)?;
        runner.describe_text(query, &declarations)?;
    }
    let (scroll, concurrency, _) = options(args, 4);
    let all = [(0, handle.into()), (4, scroll.into()), (5, concurrency.into())];
    Ok(Returned { outputs: outputs(args, &all), ..Returned::default() })
}

/// `sp_cursorexecute @handle, @cursor OUTPUT, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT, values…`
pub(super) fn sp_cursorexecute(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const NAME: &str = "sp_cursorexecute";
    needs(NAME, args, 2)?;
    let handle = number(args, "handle", 0).unwrap_or(0);
    let found = runner.info.prepared.borrow().get(handle as i32);
    let Some(Statement::Text(text, declarations)) = found else {
        return Err(errors::no_prepared(handle).into());
    };
    let (scroll, concurrency, rows) = options(args, 2);
    let skip = args.len().min(5);
    let values = &args[skip..];
    let request = OpenCursor { procedure: NAME, text, declarations, values, scroll, concurrency, rows };
    open(runner, &request, args, [1, 2, 3, 4], skip)
}

/// `sp_cursorprepexec @handle OUTPUT, @cursor OUTPUT, @params, @stmt, @scrollopt OUTPUT, @ccopt OUTPUT, @rowcount OUTPUT,
/// values…`
pub(super) fn sp_cursorprepexec(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const NAME: &str = "sp_cursorprepexec";
    needs(NAME, args, 4)?;
    // Preparing again under an old handle replaces it.
    if let Some(old) = number(args, "handle", 0) {
        runner.info.prepared.borrow_mut().remove(old as i32);
    }
    let (handle, text, declarations) = prepare(runner, args, 2)?;
    let (scroll, concurrency, rows) = options(args, 4);
    let skip = args.len().min(7);
    let values = &args[skip..];
    let request = OpenCursor { procedure: NAME, text, declarations, values, scroll, concurrency, rows };
    let mut returned = open(runner, &request, args, [1, 4, 5, 6], skip)?;
    returned.outputs.splice(0..0, outputs(args, &[(0, handle.into())]));
    Ok(returned)
}

/// `sp_cursorunprepare @handle`
pub(super) fn sp_cursorunprepare(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    super::prepared::sp_unprepare(runner, args)
}

/// `sp_cursorfetch @cursor, @fetchtype, @rownum OUTPUT, @nrows OUTPUT`
pub(super) fn sp_cursorfetch(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const NAME: &str = "sp_cursorfetch";
    const NEXT: i64 = 2;
    const ROWS: i64 = 20;
    needs(NAME, args, 1)?;
    let id = cursor(runner, NAME, args)?;
    let kind = FetchKind::of(number(args, "fetchtype", 1).unwrap_or(NEXT));
    let kind = kind.ok_or_else(|| errors::cursor_parameter(NAME, "fetchtype"))?;
    let row = number(args, "rownum", 2).unwrap_or(0);
    let count = number(args, "nrows", 3).unwrap_or(ROWS);
    if count < 0 {
        return Err(errors::cursor_parameter(NAME, "nrows").into());
    }
    let status = runner.fetch_api_cursor(id, kind, row, count)?;
    let cursors = runner.info.cursors.borrow();
    let outputs = match cursors.get(id) {
        Some(c) if kind == FetchKind::Info => {
            let behind = c.position > c.rows.len();
            outputs(args, &[(2, if behind { -1 } else { c.position as i64 }), (3, c.row_count())])
        }
        _ => Vec::new(),
    };
    Ok(Returned { status, outputs, ..Returned::default() })
}

/// `sp_cursoroption @cursor, @code, @value`
pub(super) fn sp_cursoroption(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const NAME: &str = "sp_cursoroption";
    needs(NAME, args, 3)?;
    let id = cursor(runner, NAME, args)?;
    let code = number(args, "code", 1).unwrap_or(0);
    let mut cursors = runner.info.cursors.borrow_mut();
    let told = |value: i64| Ok(Returned { outputs: outputs(args, &[(2, value)]), ..Returned::default() });
    match code {
        // Which columns come as text pointers: they all come as they are, but clients that say which want to be told of the columns again.
        0x01 | 0x03 => {
            let api = cursors.get_mut(id).and_then(|c| c.api.as_mut());
            api.expect("a cursor of the API").reshaped = true;
            ok()
        }
        0x02 => {
            let name = crate::catalog::fold(&string(args, "value", 2).unwrap_or_default());
            cursors.rename(id, name)?;
            ok()
        }
        0x04..=0x06 => {
            let c = cursors.get(id).expect("it was just found");
            let agreed = c.api.as_ref().expect("a cursor of the API").agreed;
            told(match code {
                0x04 => agreed.kind.into(),
                0x05 => agreed.concurrency.into(),
                _ => c.row_count(),
            })
        }
        _ => Err(errors::cursor_parameter(NAME, "code").into()),
    }
}

/// `sp_cursor @cursor, @optype, @rownum, @table, values…`
pub(super) fn sp_cursor(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const NAME: &str = "sp_cursor";
    needs(NAME, args, 2)?;
    let id = cursor(runner, NAME, args)?;
    let operations = number(args, "optype", 1).unwrap_or(0) as i32;
    let changes = [operation::UPDATE, operation::DELETE, operation::INSERT];
    let asked = changes.iter().filter(|o| operations & **o != 0).count();
    if operations == 0 || operations & !operation::ALL != 0 || asked > 1 {
        return Err(errors::cursor_parameter(NAME, "optype").into());
    }
    let row = number(args, "rownum", 2).unwrap_or(0);
    let table = string(args, "table", 3).unwrap_or_default();
    let values = &args[args.len().min(4)..];
    runner.change_api_cursor(id, operations, row, &table, values)?;
    ok()
}

/// `sp_cursorclose @cursor`
pub(super) fn sp_cursorclose(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const NAME: &str = "sp_cursorclose";
    const ALL: i64 = -1;
    needs(NAME, args, 1)?;
    if number(args, "cursor", 0) == Some(ALL) {
        runner.info.cursors.borrow_mut().remove_api();
        return ok();
    }
    let id = cursor(runner, NAME, args)?;
    runner.info.cursors.borrow_mut().remove(id);
    ok()
}
