//! Plots as SVG that can be read on light and dark pages: lines over the number of connections, one
//! panel for each backend.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::picture::{self, colour, dashes, text};
use super::scale::{Scale, ScaleKind};
use crate::results::{Results, Summary};
use crate::run::backend::Kind;
use crate::run::contestant::names::{is_pooled, order};
use crate::run::plan::MIX_CLIENTS;

const PANEL_WIDTH: f64 = 400.0;
const PANEL_HEIGHT: f64 = 250.0;
/// Room in a panel for the numbers beside the axis, and above and below the lines.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 48.0;

/// A picture of some panels.
pub struct Plot {
    /// Name of its file.
    pub file: &'static str,
    pub title: &'static str,
    scale: ScaleKind,
    format: fn(f64) -> String,
    panels: Vec<Panel>,
}

struct Panel {
    title: String,
    lines: Vec<Line>,
}

struct Line {
    name: String,
    /// Connections and value.
    points: Vec<(usize, f64)>,
}

impl Panel {
    /// The numbers of connections that it has figures of, in order.
    fn connections(&self) -> Vec<usize> {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let all: BTreeSet<usize> = points.map(|(connections, _)| *connections).collect();
        all.into_iter().collect()
    }
}

/// The figure of one contestant that a plot shows.
type Figure = fn(Kind, &Summary) -> Option<f64>;

/// The plots that the results suffice for.
pub fn all(results: &Results) -> Vec<Plot> {
    let plots = [
        Plot {
            file: "throughput.svg",
            title: "Queries per second (more is better)",
            scale: ScaleKind::Linear,
            format: thousands,
            panels: panels(results, "", |_, summary| Some(summary.per_second)),
        },
        Plot {
            file: "cpu.svg",
            title: "CPU per point select (less is better)",
            scale: ScaleKind::Linear,
            format: time,
            panels: panels(results, "CPU", cpu),
        },
        Plot {
            file: "p99.svg",
            title: "p99 of a point select (less is better)",
            scale: ScaleKind::Logarithmic,
            format: time,
            panels: panels(results, "", |_, summary| Some(summary.latency_us.p99)),
        },
    ];
    plots
        .into_iter()
        .filter(|plot| !plot.panels.is_empty())
        .collect()
}

/// Before the minimal backend the proxy's own, before real servers the sum that a query costs.
fn cpu(backend: Kind, summary: &Summary) -> Option<f64> {
    let proxy = summary.proxy_cpu_us.map(|cpu| cpu.sum());
    match backend {
        Kind::Minimal => proxy,
        Kind::MariaDb | Kind::MySql | Kind::MySqlPair => {
            Some(proxy.unwrap_or_default() + summary.backend_cpu_us.sum())
        }
    }
}

fn panels(results: &Results, what: &str, figure: Figure) -> Vec<Panel> {
    let backends = [
        (Kind::Minimal, "proxy alone"),
        (Kind::MariaDb, "server and proxy"),
        (Kind::MySql, "server and proxy"),
    ];
    let panels = backends.into_iter().map(|(backend, whose)| {
        let whose = match what {
            "" => String::new(),
            what => format!(", {what} of {whose}"),
        };
        Panel {
            title: format!("{}{whose}", backend.title()),
            lines: lines(results, backend, figure),
        }
    });
    panels
        .filter(|panel| panel.lines.iter().any(|line| line.points.len() > 1))
        .collect()
}

/// Point selects by our own generator.
fn lines(results: &Results, backend: Kind, figure: Figure) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut comparisons: Vec<_> = results
        .comparisons
        .iter()
        .filter(|it| it.cell.backend == backend && it.cell.workload == "point")
        // Of the mix, which shows who goes on, not how it grows.
        .filter(|it| it.cell.connections != MIX_CLIENTS)
        .collect();
    comparisons.sort_by_key(|comparison| comparison.cell.connections);
    for comparison in comparisons {
        let connections = comparison.cell.connections;
        for (name, summary) in &comparison.contestants {
            let Some(value) = figure(backend, summary).filter(|value| *value > 0.0) else {
                continue;
            };
            match lines.iter_mut().find(|line| line.name == *name) {
                Some(line) => line.points.push((connections, value)),
                None => {
                    lines.push(Line {
                        name: name.clone(),
                        points: vec![(connections, value)],
                    });
                }
            }
        }
    }
    // What is compared at one number of connections makes no line.
    lines.retain(|line| line.points.len() > 1 && !is_pooled(&line.name));
    lines.sort_by_key(|line| order(&line.name));
    lines
}

impl Plot {
    /// The picture.
    pub fn svg(&self) -> String {
        let (width, height) = (PANEL_WIDTH * self.panels.len() as f64, TOP + PANEL_HEIGHT);
        let names = self.names();
        let mut svg = picture::begin((width, height), self.title, &names);
        for (number, panel) in self.panels.iter().enumerate() {
            self.panel(&mut svg, panel, PANEL_WIDTH * number as f64, &names);
        }
        svg + "</svg>\n"
    }

    /// All contestants of the picture.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for line in self.panels.iter().flat_map(|panel| &panel.lines) {
            if !names.contains(&line.name) {
                names.push(line.name.clone());
            }
        }
        names.sort_by_key(|name| order(name));
        names
    }

    fn panel(&self, svg: &mut String, panel: &Panel, left: f64, names: &[String]) {
        let values = panel
            .lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|(_, value)| *value);
        let scale = Scale::holding(self.scale, values);
        let (x_low, x_high) = (left + LEFT, left + PANEL_WIDTH - RIGHT);
        let (y_high, y_low) = (TOP, TOP + PANEL_HEIGHT - BOTTOM);
        let y = |value: f64| y_low - (y_low - y_high) * scale.position(value);
        let ticks = panel.connections();
        let step = (x_high - x_low - 40.0) / (ticks.len().max(2) - 1) as f64;
        let x = |connections: usize| {
            let place = ticks.iter().position(|known| *known == connections);
            x_low + 20.0 + step * place.unwrap_or_default() as f64
        };
        text(svg, (x_low, TOP - 12.0), "panel", "start", &panel.title);
        for &tick in &scale.ticks {
            let y = y(tick);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{x_low} {y:.1}H{x_high}\"/>");
            text(
                svg,
                (x_low - 8.0, y + 4.0),
                "soft",
                "end",
                &(self.format)(tick),
            );
        }
        for &connections in &ticks {
            text(
                svg,
                (x(connections), y_low + 18.0),
                "soft",
                "middle",
                &connections.to_string(),
            );
        }
        text(
            svg,
            (f64::midpoint(x_low, x_high), y_low + 36.0),
            "soft",
            "middle",
            "connections",
        );
        for line in &panel.lines {
            let class = colour(&line.name, names);
            let points = line
                .points
                .iter()
                .map(|&(connections, value)| (x(connections), y(value)));
            polyline(svg, &line.name, &class, &points.collect::<Vec<_>>());
        }
    }
}

fn polyline(svg: &mut String, name: &str, class: &str, points: &[(f64, f64)]) {
    let path: Vec<String> = points
        .iter()
        .map(|(x, y)| format!("{x:.1} {y:.1}"))
        .collect();
    let _ = writeln!(
        svg,
        "<path class=\"line {class}\" d=\"M{}\"{}/>",
        path.join("L"),
        dashes(name)
    );
    for (x, y) in points {
        let _ = writeln!(
            svg,
            "<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"
        );
    }
}

fn thousands(value: f64) -> String {
    if value >= 1000.0 {
        format!("{} k", value / 1000.0)
    } else {
        format!("{value}")
    }
}

/// A time given in microseconds.
fn time(value: f64) -> String {
    match value {
        0.0..1_000.0 => format!("{value} µs"),
        1_000.0..1_000_000.0 => format!("{} ms", value / 1_000.0),
        _ => format!("{} s", value / 1_000_000.0),
    }
}
