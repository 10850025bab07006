//! Writes every target's seeds to `DIR/<target>/`, for the fuzzer to begin with.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let Some(dir) = std::env::args().nth(1) else {
        eprintln!("usage: seeds DIR");
        std::process::exit(2);
    };
    for target in keel_fuzz::TARGETS {
        let dir = Path::new(&dir).join(target.name);
        std::fs::create_dir_all(&dir)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(dir.join(format!("seed-{number:04}")), seed)?;
        }
    }
    Ok(())
}
