//! The files of the page. They hold no data: what is shown comes as JSON and is written into the page as text.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};

/// What a page may load and run: what this server sends, and nothing that stands inside the page.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A file of the page.
pub struct File {
    /// Where it is served.
    pub path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// All of them.
pub static FILES: &[File] = &[
    File { path: "/", kind: HTML, text: include_str!("../assets/index.html") },
    File { path: "/dashboard.css", kind: CSS, text: include_str!("../assets/dashboard.css") },
    File { path: "/dashboard.js", kind: SCRIPT, text: include_str!("../assets/dashboard.js") },
    File { path: "/dom.js", kind: SCRIPT, text: include_str!("../assets/dom.js") },
    File { path: "/format.js", kind: SCRIPT, text: include_str!("../assets/format.js") },
    File { path: "/parts.js", kind: SCRIPT, text: include_str!("../assets/parts.js") },
    File { path: "/plots.js", kind: SCRIPT, text: include_str!("../assets/plots.js") },
    File { path: "/icon.svg", kind: SVG, text: include_str!("../assets/icon.svg") },
    File { path: "/uplot.css", kind: CSS, text: keel_assets::UPLOT_CSS },
    File { path: "/uplot.js", kind: SCRIPT, text: keel_assets::UPLOT_JS },
    File { path: "/licences.txt", kind: PLAIN, text: keel_assets::UPLOT_NOTICE },
];

impl File {
    /// Serves it.
    pub fn route<S: Clone + Send + Sync + 'static>(&'static self) -> MethodRouter<S> {
        get(async || self.response())
    }

    fn response(&self) -> Response {
        // Another version of the server has other files under the same names.
        ([(CONTENT_TYPE, self.kind), (CACHE_CONTROL, "no-cache")], self.text).into_response()
    }
}
