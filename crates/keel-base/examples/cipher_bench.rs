//! What encryption costs: `cargo run --release -p keel-base --example cipher_bench` prints microseconds for sealing and opening a
//! page of 8 KB, and log blocks of some sizes.
#![allow(clippy::unwrap_used, reason = "an example: what fails should stop it")]

use keel_base::cipher::{Algorithm, BlockWriter, DataKey, Keychain, PageNonce};
use keel_base::env::sim::SimRandom;
use std::time::Instant;

const ROUNDS: u32 = 20_000;

fn micros(mut work: impl FnMut(u32)) -> f64 {
    let began = Instant::now();
    (0..ROUNDS).for_each(&mut work);
    began.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
}

fn main() {
    for (name, algorithm) in
        [("AES_128", Algorithm::Aes128), ("AES_192", Algorithm::Aes192), ("AES_256", Algorithm::Aes256)]
    {
        let keys = Keychain::default();
        keys.set_file([1; 16], 1);
        keys.add(1, DataKey::new(algorithm, &SimRandom::new(1)));
        let sealer = keys.page_sealer(1).unwrap();
        let mut page = vec![7; 8192];
        let nonce = |generation| PageNonce { page: 1, generation, opening: 1 };
        let seals = micros(|n| {
            sealer.seal(nonce(n), b"aad", &mut page[24..]);
        });
        let tag = sealer.seal(nonce(0), b"aad", &mut page[24..]);
        let opens = micros(|_| {
            let mut copy = page.clone();
            assert!(sealer.open(nonce(0), b"aad", &mut copy[24..], &tag));
        });
        println!("{name}: page of 8 KB: sealed in {seals:.2} µs, opened in {opens:.2} µs");
        let writer = BlockWriter { key: 1, log_id: 1, epoch: 1, incarnation: 1 };
        let block = keys.block_sealer(writer).unwrap();
        for bytes in [200, 1000, 4000, 60_000] {
            let mut payload = vec![7; bytes];
            let seals = micros(|n| {
                block.seal(u64::from(n), &[0; 48], &mut payload);
            });
            println!("{name}: log block of {bytes} bytes: sealed in {seals:.2} µs");
        }
    }
}
