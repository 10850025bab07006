//! A report as one page that loads nothing: style, data and drawings are in it. Wide tables scroll by themselves, so that it can
//! be read on a phone; colours follow the reader's setting.

use super::{Better, Check, Figure, Plot, Report, Table, number};
use keel_assets::{UPLOT_CSS, UPLOT_JS, UPLOT_NOTICE};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page.
#[must_use]
pub fn page(report: &Report) -> String {
    let goals: Vec<&Figure> = report.figures.iter().filter(|f| f.reached().is_some()).collect();
    let body = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (report.title) " – " (report.began) }
                @if !report.plots.is_empty() { style { (PreEscaped(UPLOT_CSS)) } }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (heading(report))
                @if !goals.is_empty() {
                    h2 { "Goals" }
                    div.cards { @for figure in goals { (card(figure)) } }
                }
                @if !report.checks.is_empty() { (checks(&report.checks)) }
                @for one in &report.tables { (table(one)) }
                @for (i, one) in report.plots.iter().enumerate() { (plot(i, one)) }
                (figures(&report.figures))
                (circumstances(report))
                footer { "Written by " code { "keel bench" } ". None of these figures is a TPC result." }
                @if !report.plots.is_empty() { (drawing(&report.plots)) }
            }
        }
    };
    body.into_string()
}

fn heading(report: &Report) -> Markup {
    html! {
        header {
            h1 { (report.title) }
            p.soft {
                (report.began) " · " (number(report.seconds)) " s · " (report.machine.line())
            }
            pre { code { (report.command) } }
        }
        @let notes = warnings(report);
        @if !notes.is_empty() {
            div.notes { @for note in notes { p { (note) } } }
        }
    }
}

/// What a reader has to know before any figure.
fn warnings(report: &Report) -> Vec<String> {
    let mut notes = report.notes.clone();
    let machine = &report.machine;
    if machine.was_busy() {
        notes.push(format!(
            "The machine was not quiet: {:.1} runnable threads on {} cores when the run began. Rates and latencies say little.",
            machine.load_before, machine.cores
        ));
    }
    if machine.steal_percent >= 2.0 {
        notes.push(format!(
            "Other guests took {:.1} % of the processors during the run.",
            machine.steal_percent
        ));
    }
    notes
}

fn card(figure: &Figure) -> Markup {
    let class = if figure.reached() == Some(true) { "card good" } else { "card bad" };
    let bound = if figure.better == Better::Higher { "at least" } else { "at most" };
    let verdict = if figure.reached() == Some(true) { "reached" } else { "missed" };
    html! {
        div class=(class) {
            div { (figure.name) }
            div.soft { (super::spaced(&[&figure.target, &figure.case])) }
            div.value { (number(figure.median())) " " small { (figure.unit) } }
            div.verdict { (verdict) ": " (bound) " " (number(figure.goal.unwrap_or(f64::NAN))) " " (figure.unit) }
        }
    }
}

fn checks(checks: &[Check]) -> Markup {
    html! {
        h2 { "What must hold" }
        ul.checks {
            @for check in checks {
                li {
                    @if check.violations.is_empty() {
                        span.mark.good { "✓" } (check.name)
                    } @else {
                        span.mark.bad { "✗" } (check.name) ": broken " (check.violations.len()) " times"
                        ul { @for violation in check.violations.iter().take(20) { li { code { (violation) } } } }
                    }
                }
            }
        }
    }
}

/// Whether a column is to be read as text: some value of it does not begin like a number.
fn is_text(table: &Table, column: usize) -> bool {
    let numeric =
        |v: &String| v.starts_with(|c: char| c.is_ascii_digit() || "-–+".contains(c)) || v.is_empty();
    column == 0 || !table.rows.iter().filter_map(|row| row.get(column)).all(numeric)
}

fn table(table: &Table) -> Markup {
    let class = |column: usize| if is_text(table, column) { "text" } else { "number" };
    html! {
        h2 { (table.title) }
        @if !table.note.is_empty() { p.soft { (table.note) } }
        div.scroll {
            table {
                @if table.columns.iter().any(|name| !name.is_empty()) {
                    thead { tr { @for (i, name) in table.columns.iter().enumerate() { th class=(class(i)) { (name) } } } }
                }
                tbody {
                    @for row in &table.rows {
                        tr { @for (i, value) in row.iter().enumerate() { td class=(class(i)) { (value) } } }
                    }
                }
            }
        }
    }
}

fn plot(number: usize, plot: &Plot) -> Markup {
    html! {
        h2 { (plot.title) }
        div.plot {
            p.soft { (plot.unit) }
            div id={ "plot" (number) } role="img" aria-label={ (plot.title) ", " (plot.unit) " by " (plot.x_label) } {}
        }
    }
}

/// What draws: uPlot with its licence, the data, and our use of it.
fn drawing(plots: &[Plot]) -> Markup {
    // JSON in a script may not hold what ends one.
    let data = serde_json::to_string(plots).unwrap_or_default().replace('<', "\\u003c");
    html! {
        (PreEscaped(format!("<!--\n{}\n-->", UPLOT_NOTICE.replace("--", "- -"))))
        script { (PreEscaped(UPLOT_JS)) }
        script type="application/json" id="plots" { (PreEscaped(data)) }
        script { (PreEscaped(SCRIPT)) }
    }
}

/// All samples, for whoever wants to know what a median stands on.
fn figures(figures: &[Figure]) -> Markup {
    if figures.is_empty() {
        return html! {};
    }
    let mut all = Table::new("All figures", &["figure", "of", "case", "median", "unit", "samples"]);
    for f in figures {
        let samples = f.samples.iter().map(|s| number(*s)).collect::<Vec<_>>().join(" · ");
        all.row([
            f.name.clone(),
            f.target.clone(),
            f.case.clone(),
            number(f.median()),
            f.unit.clone(),
            samples,
        ]);
    }
    html! { details { summary { "All figures with their samples" } (table(&all)) } }
}

/// Machine, versions, settings.
fn circumstances(report: &Report) -> Markup {
    let machine = &report.machine;
    let mut where_ = Table::new("Machine and versions", &["", ""]);
    where_.row(["processor".to_owned(), format!("{} ({} cores)", machine.cpu, machine.cores)]);
    where_.row(["memory".to_owned(), format!("{} MB", machine.memory_mb)]);
    where_.row(["system".to_owned(), format!("{}, kernel {}", machine.system, machine.kernel)]);
    where_.row(["runnable threads when it began".to_owned(), format!("{:.2}", machine.load_before)]);
    where_.row(["processors in use during the run".to_owned(), format!("{:.1} %", machine.busy_percent)]);
    where_
        .row(["taken by other guests during the run".to_owned(), format!("{:.1} %", machine.steal_percent)]);
    for (name, version) in &report.versions {
        where_.row([name.as_str(), version.as_str()]);
    }
    let mut settings = Table::new("Settings", &["setting", "value"])
        .note(&format!("Hash over the command and all its settings: {}", report.settings_hash));
    for (name, value) in &report.settings {
        settings.row([name.replace('_', " "), value.clone()]);
    }
    html! { (table(&where_)) (table(&settings)) }
}
