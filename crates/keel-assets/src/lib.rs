//! # keel-assets: files of others that are shipped in the binary
//!
//! The dashboard and the benchmarks' reports draw their plots with [uPlot](https://github.com/leeoniya/uPlot), and must do so on
//! machines without a network, built by machines without npm. So its published files are kept here, unchanged, under
//! `third_party/uplot`, with their licence; `docs/decisions/2026-11-22-uplot-is-shipped-as-published.md` says why and from
//! where.
//!
//! ## Invariants
//!
//! * What is under `third_party` is byte for byte what its authors published: a test knows the digests.
//! * A page that carries the script carries [`UPLOT_NOTICE`] too (the licence asks for it).
//!
//! ## Deliberately absent
//!
//! Anything of our own: pages and styles stand with the crate that serves them.

/// uPlot's version.
pub const UPLOT_VERSION: &str = "1.6.32";

/// uPlot as a script that defines the global `uPlot`; ASCII, and without the text `</script`, so that it can stand in a page.
pub const UPLOT_JS: &str = include_str!("../third_party/uplot/uPlot.iife.min.js");

/// The styles uPlot's elements need.
pub const UPLOT_CSS: &str = include_str!("../third_party/uplot/uPlot.min.css");

/// uPlot's copyright and licence (MIT).
pub const UPLOT_NOTICE: &str = include_str!("../third_party/uplot/LICENSE");

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a, 64 bits: enough to notice an editor or a line-end conversion.
    fn digest(text: &str) -> u64 {
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    #[test]
    fn files_are_as_published() {
        assert!(UPLOT_JS.contains(&format!("(v{UPLOT_VERSION})")));
        let digests = [digest(UPLOT_JS), digest(UPLOT_CSS), digest(UPLOT_NOTICE)];
        assert_eq!(digests, [0xe36e_4ba6_4a14_0428, 0xf22a_dd10_2039_a00b, 0x5d96_d587_031a_aff4]);
    }

    #[test]
    fn the_script_can_stand_in_a_page() {
        assert!(!UPLOT_JS.contains("</script") && !UPLOT_JS.contains("<!--"));
        assert!(UPLOT_NOTICE.contains("Permission is hereby granted"));
    }
}
