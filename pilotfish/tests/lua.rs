//! The output of `lua` on the command line.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

fn folder_with(scripts: &[(&str, &str)]) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let write = |(name, text): &(&str, &str)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let paths = scripts.iter().map(write).collect();
    (folder, paths)
}

/// The exit code, standard output and standard error.
fn lua<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pilotfish"));
    let output = command.arg("lua").args(arguments).env_remove("LUA_PATH");
    let output = output.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    (output.status.code().unwrap(), out, err)
}

#[test]
fn a_script_runs_with_its_arguments() {
    let text = "#!/usr/bin/env pilotfish lua
        print(_VERSION, select('#', ...), ..., arg[1], arg[0]:match('[^/]*$'))
        print(#require('mysql.tokenizer').tokenize('SELECT 1'))
        require('chassis').warning('seen')";
    let (_folder, paths) = folder_with(&[("x.lua", text)]);
    let path = paths[0].as_os_str();
    let (code, out, err) = lua([path, OsStr::new("one")]);
    assert_eq!(out, "Lua 5.1\t1\tone\tone\tx.lua\n2\n");
    assert_eq!(err, format!("warning: ({}:4) seen\n", paths[0].display()));
    assert_eq!(code, 0);
}

#[test]
fn a_script_that_fails_says_where() {
    let (_folder, paths) = folder_with(&[("x.lua", "\nerror('no more')")]);
    let (code, _, err) = lua([&paths[0]]);
    let expected = format!("pilotfish: {}:2: no more\n", paths[0].display());
    assert_eq!((code, err), (1, expected));
    let (code, _, err) = lua(["/no/such/file.lua"]);
    assert!(
        code == 1 && err.contains("/no/such/file.lua: No such file"),
        "{err}"
    );
}

#[test]
fn checking_names_every_broken_script_and_runs_none() {
    let scripts = [
        ("good.lua", "error('it runs')"),
        ("bad.lua", "local a = 1\nlocal b = = 2"),
        ("shebang.lua", "#!/usr/bin/lua\n"),
    ];
    let (_folder, paths) = folder_with(&scripts);
    let check = |paths: &[PathBuf]| {
        let option = std::iter::once(OsStr::new("--check"));
        lua(option.chain(paths.iter().map(|path| path.as_os_str())))
    };
    assert_eq!(check(&paths[..1]), (0, String::new(), String::new()));
    let (code, out, err) = check(&paths);
    assert_eq!((code, out.as_str()), (1, ""));
    let lines: Vec<_> = err.lines().collect();
    assert!(lines.len() == 2, "{err}");
    assert!(
        lines[0].contains("bad.lua") && lines[0].contains(":2: unexpected symbol"),
        "{err}"
    );
    assert!(
        lines[1].contains("shebang.lua") && lines[1].contains(":1: "),
        "{err}"
    );
}
