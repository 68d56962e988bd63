//! What all pictures have in common: the frame, the colours, the legend.

use std::fmt::Write;

use crate::run::contestant::names::{DIRECT, HAPROXY, LANES, PILOTFISH, title};

/// Contestants' colours on light pages and on dark ones: direct, HAProxy, Pilotfish, its lanes,
/// others.
const COLOURS: [(&str, &str); 8] = [
    ("#6e7781", "#a9b3bd"),
    ("#d9730d", "#ffa657"),
    ("#0b6bcb", "#58a6ff"),
    ("#8250df", "#bc8cff"),
    ("#1a7f37", "#56d364"),
    ("#cf222e", "#ff7b72"),
    ("#9a6700", "#e3b341"),
    ("#bf3989", "#f778ba"),
];

/// Text and grid on light pages, then on dark ones.
const LIGHT: &str = "\
.back{fill:#ffffff}text{fill:#24292f;font-size:12px;\
font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif}\
.title{font-size:16px;font-weight:600}.panel{font-weight:600}.soft{fill:#57606a}\
.grid{stroke:#d8dee4;stroke-width:1}.line{fill:none;stroke-width:2.2}";
const DARK: &str = "\
.back{fill:#0d1117}text{fill:#e6edf3}.soft{fill:#9ea7b3}.grid{stroke:#30363d}";

/// Begins a picture of this size with its title and the contestants.
pub fn begin((width, height): (f64, f64), heading: &str, names: &[String]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{heading}\">\n\
         <style>{}</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n",
        style(),
    );
    text(&mut svg, (16.0, 28.0), "title", "start", heading);
    legend(&mut svg, names);
    svg
}

fn legend(svg: &mut String, names: &[String]) {
    let mut x = 16.0;
    for name in names {
        let class = colour(name, names);
        let _ = writeln!(
            svg,
            "<path class=\"line {class}\" d=\"M{x} 46h22\"{}/><circle class=\"dot {class}\" cx=\"{}\" cy=\"46\" r=\"3.5\"/>",
            dashes(name),
            x + 11.0,
        );
        text(svg, (x + 28.0, 50.0), "", "start", title(name));
        x += 52.0 + title(name).len() as f64 * 7.0;
    }
}

/// No custom properties: not every renderer knows them.
fn style() -> String {
    let colours = |pick: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        let rules = COLOURS.iter().map(pick).enumerate();
        rules
            .map(|(number, colour)| {
                format!(".line.c{number}{{stroke:{colour}}}.dot.c{number}{{fill:{colour}}}")
            })
            .collect()
    };
    let (light, dark) = (colours(|both| both.0), colours(|both| both.1));
    format!("{LIGHT}{light}@media(prefers-color-scheme:dark){{{DARK}{dark}}}")
}

/// Puts a text there.
pub fn text(svg: &mut String, (x, y): (f64, f64), class: &str, anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// Those that are always there keep their colours; others take the rest in turn.
pub fn colour(name: &str, names: &[String]) -> String {
    const KNOWN: [&str; 4] = [DIRECT, HAPROXY, PILOTFISH, LANES];
    let number = KNOWN
        .iter()
        .position(|known| *known == name)
        .unwrap_or_else(|| {
            let mut others = names.iter().filter(|name| !KNOWN.contains(&name.as_str()));
            let place = others.position(|other| other == name).unwrap_or_default();
            KNOWN.len() + place % (COLOURS.len() - KNOWN.len())
        });
    format!("c{number}")
}

/// How lines are drawn: that of the direct way is dashed.
pub fn dashes(name: &str) -> &'static str {
    if name == DIRECT {
        " stroke-dasharray=\"5 4\""
    } else {
        ""
    }
}
