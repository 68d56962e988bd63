//! Embeds the dashboard in the program, if `web/build.sh` has built it. Without it the program works as well,
//! and says how to get the dashboard.

use std::path::{Path, PathBuf};
use std::{env, fs};

const FILES: [&str; 3] = ["index.html.gz", "dashboard.js.gz", "dashboard.css.gz"];

fn main() {
    let packed = Path::new("../web/packed");
    println!("cargo::rerun-if-changed={}", packed.display());
    println!("cargo::rustc-check-cfg=cfg(has_dashboard)");
    let Some(to) = env::var_os("OUT_DIR").map(PathBuf::from) else {
        return;
    };
    let copied = FILES.map(|name| fs::copy(packed.join(name), to.join(name)));
    if copied.iter().all(Result::is_ok) {
        println!("cargo::rustc-cfg=has_dashboard");
    }
}
