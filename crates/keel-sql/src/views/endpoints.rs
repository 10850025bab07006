//! Endpoints.

use super::{BIT, Column, DESC, INT, NAME, NULL, SystemView, TINY, ViewContext, bit, int, text, view};
use crate::hadr::EndpointAddress;
use crate::hadr::store::{Method, StoredEndpoint};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

#[rustfmt::skip]
const ENDPOINT: &[Column] = &[
    ("name", NAME), ("endpoint_id", INT), ("principal_id", INT), ("protocol", TINY), ("protocol_desc", DESC), ("type", TINY),
    ("type_desc", DESC), ("state", TINY), ("state_desc", DESC), ("is_admin_endpoint", BIT),
];

#[rustfmt::skip]
const TCP_ENDPOINT: &[Column] = &[
    ("name", NAME), ("endpoint_id", INT), ("principal_id", INT), ("protocol", TINY), ("protocol_desc", DESC), ("type", TINY),
    ("type_desc", DESC), ("state", TINY), ("state_desc", DESC), ("is_admin_endpoint", BIT), ("port", INT),
    ("is_dynamic_port", BIT), ("ip_address", SqlType::NVarChar(Length::Limited(45))),
];

#[rustfmt::skip]
const MIRRORING_ENDPOINT: &[Column] = &[
    ("name", NAME), ("endpoint_id", INT), ("principal_id", INT), ("protocol", TINY), ("protocol_desc", DESC), ("type", TINY),
    ("type_desc", DESC), ("state", TINY), ("state_desc", DESC), ("is_admin_endpoint", BIT), ("role", TINY),
    ("role_desc", DESC), ("is_encryption_enabled", BIT), ("connection_auth", TINY), ("connection_auth_desc", DESC),
    ("certificate_id", INT), ("encryption_algorithm", TINY), ("encryption_algorithm_desc", DESC),
];

pub(super) static VIEWS: &[SystemView] = &[
    view("endpoints", ENDPOINT, |cx| {
        let mut rows: Rows = SYSTEM.iter().map(system).collect();
        rows.extend(stored(cx).iter().map(common));
        rows
    }),
    view("tcp_endpoints", TCP_ENDPOINT, tcp),
    view("database_mirroring_endpoints", MIRRORING_ENDPOINT, mirroring_endpoints),
];

/// Endpoints that every instance has: name, id, protocol, its name.
const SYSTEM: &[(&str, i64, i64, &str)] = &[("TSQL Default TCP", 4, 2, "TCP")];

fn system(&(name, id, protocol, protocol_name): &(&str, i64, i64, &str)) -> Vec<Value> {
    let mut row = vec![text(name), int(id), int(1), int(protocol), text(protocol_name)];
    row.extend([int(2), text("TSQL"), int(0), text("STARTED"), bit(false)]);
    row
}

fn stored(cx: &ViewContext<'_>) -> Vec<StoredEndpoint> {
    cx.engine.endpoints().unwrap_or_default()
}

fn common(e: &StoredEndpoint) -> Vec<Value> {
    let mut row = vec![text(e.name.as_str()), int(e.id), int(e.owner), int(2), text("TCP")];
    row.extend([int(4), text("DATABASE_MIRRORING"), int(e.state.number()), text(e.state.word()), bit(false)]);
    row
}

fn tcp(cx: &ViewContext<'_>) -> Rows {
    let mut rows: Rows = SYSTEM.iter().map(system).collect();
    for row in &mut rows {
        row.extend([int(0), bit(true), NULL]);
    }
    for e in stored(cx) {
        let mut row = common(&e);
        let ip = match &e.address {
            EndpointAddress::All => NULL,
            EndpointAddress::Ip(ip) => text(ip.as_str()),
        };
        row.extend([int(e.port), bit(false), ip]);
        rows.push(row);
    }
    rows
}

/// `connection_auth`: number and words.
fn authentication(e: &StoredEndpoint) -> (i64, String) {
    let windows = |w: &str| match w {
        "NTLM" => 1,
        "KERBEROS" => 2,
        _ => 3,
    };
    match &e.authentication[..] {
        [Method::Windows(w)] => (windows(w), w.clone()),
        [Method::Windows(w), Method::Certificate(_), ..] => (windows(w) + 4, format!("{w}, CERTIFICATE")),
        [Method::Certificate(_), Method::Windows(w), ..] => (windows(w) + 7, format!("CERTIFICATE, {w}")),
        _ => (4, "CERTIFICATE".to_owned()),
    }
}

/// `encryption_algorithm`: number and words.
fn encryption(e: &StoredEndpoint) -> (i64, String) {
    let words = e.algorithms.join(", ");
    let number = match (e.encryption_supported, words.as_str()) {
        (false, "RC4") => 1,
        (false, "RC4, AES") => 5,
        (false, "AES, RC4") => 6,
        (false, _) => 2,
        (true, "RC4") => 3,
        (true, "RC4, AES") => 7,
        (true, "AES, RC4") => 8,
        (true, _) => 4,
    };
    (number, if e.encryption_supported { format!("NONE, {words}") } else { words })
}

fn mirroring_endpoints(cx: &ViewContext<'_>) -> Rows {
    let row = |e: StoredEndpoint| {
        let mut row = common(&e);
        let certificate = e.authentication.iter().find_map(|m| match m {
            Method::Certificate(name) => cx.engine.certificate(name).ok()?.map(|c| c.id),
            Method::Windows(_) => None,
        });
        let (auth, auth_words) = authentication(&e);
        let (algorithm, algorithm_words) = encryption(&e);
        row.extend([int(e.role.number()), text(e.role.word()), bit(true), int(auth), text(auth_words)]);
        row.extend([int(certificate.unwrap_or(0)), int(algorithm), text(algorithm_words)]);
        row
    };
    stored(cx).into_iter().map(row).collect()
}
