//! Runs each target on its seeds, on the inputs that fuzzing kept and on past finds, with any compiler:
//! `cargo test -p pilotfish-fuzz`.

use std::path::Path;

#[test]
fn fuzz_targets_accept_all_known_inputs() {
    for (name, target, seeds) in fuzz::TARGETS {
        let mut inputs = seeds();
        assert!(!inputs.is_empty(), "{name} has no seeds");
        for kept in ["corpus", "artifacts"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kept).join(name);
            for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                inputs.push(std::fs::read(file.path()).expect("it is readable"));
            }
        }
        println!("{name}: {} inputs", inputs.len());
        for input in inputs {
            target(&input);
        }
    }
}

#[test]
fn rules_refuse_each_statement_form_in_one_and_in_two_wrappings() {
    for number in 0..1024_u16 {
        let [low, high] = number.to_le_bytes();
        for server in 0..3 {
            fuzz::boundaries(&[low, high, server, 0]);
            for how in 0..12 {
                fuzz::boundaries(&[low, high, server, 1, how]);
                let other = how.wrapping_add(low) % 12;
                fuzz::boundaries(&[low, high, server, 2, how, other]);
            }
        }
    }
}
