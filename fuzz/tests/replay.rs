//! Every seed, every input that fuzzing kept and every find of the past, with any compiler:
//! `cargo test -p pilotfish-fuzz`.

use std::path::Path;

#[test]
fn no_input_that_is_known_is_a_find() {
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
