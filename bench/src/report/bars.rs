//! A picture of bars: the CPU of a query by workload, everyone beside each other.

use std::fmt::Write;

use super::picture::{self, colour, text};
use super::scale::{Scale, ScaleKind};
use crate::results::{Results, Summary};
use crate::run::backend::Kind;
use crate::run::contestant::names::{is_ours, order, title};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 62.0;

/// The workloads, how they are called under the bars, and their connections.
const WORKLOADS: [(Kind, &str, &str, usize); 8] = [
    (Kind::Minimal, "point", "point select", 64),
    (Kind::Minimal, "prepared", "prepared", 64),
    (Kind::MariaDb, "point", "point, MariaDB", 64),
    (Kind::MySql, "point", "point, MySQL", 64),
    (
        Kind::MariaDb,
        "sysbench oltp_read_only ps=auto",
        "read only, MariaDB",
        64,
    ),
    (
        Kind::MySql,
        "sysbench oltp_read_only ps=auto",
        "read only, MySQL",
        64,
    ),
    (
        Kind::MariaDb,
        "sysbench oltp_read_write ps=auto",
        "read write, MariaDB",
        64,
    ),
    (
        Kind::MySql,
        "sysbench oltp_read_write ps=auto",
        "read write, MySQL",
        64,
    ),
];

/// One group of bars: contestants and microseconds.
struct Group<'a> {
    title: &'a str,
    bars: Vec<(&'a str, f64)>,
}

/// The picture; none where nothing of it was measured.
pub fn svg(results: &Results, heading: &str) -> Option<String> {
    let groups: Vec<Group<'_>> = WORKLOADS
        .iter()
        .filter_map(|workload| group(results, workload))
        .collect();
    let mut names: Vec<String> = Vec::new();
    for (name, _) in groups.iter().flat_map(|group| &group.bars) {
        if !names.iter().any(|known| known == name) {
            names.push((*name).to_owned());
        }
    }
    if groups.is_empty() {
        return None;
    }
    names.sort_by_key(|name| order(name));
    let mut svg = picture::begin((WIDTH, HEIGHT), heading, &names);
    let values = groups.iter().flat_map(|group| &group.bars);
    let scale = Scale::holding(ScaleKind::Linear, values.map(|(_, value)| *value));
    let low = HEIGHT - BOTTOM;
    let y = |value: f64| low - (low - TOP) * scale.position(value);
    for &tick in &scale.ticks {
        let at = y(tick);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{}\"/>",
            WIDTH - 14.0
        );
        text(
            &mut svg,
            (LEFT - 8.0, at + 4.0),
            "soft",
            "end",
            &format!("{tick} µs"),
        );
    }
    let step = (WIDTH - 14.0 - LEFT) / groups.len() as f64;
    for (number, group) in groups.iter().enumerate() {
        let left = LEFT + step * number as f64 + 8.0;
        let width = (step - 16.0) / group.bars.len() as f64;
        for (place, (name, value)) in group.bars.iter().enumerate() {
            let _ = writeln!(
                svg,
                "<rect class=\"dot {}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}: {value:.1} µs</title></rect>",
                colour(name, &names),
                left + width * place as f64,
                y(*value),
                (width - 2.0).max(1.0),
                low - y(*value),
                title(name),
            );
        }
        let middle = left + (step - 16.0) / 2.0;
        text(
            &mut svg,
            (middle, low + 18.0),
            "soft",
            "middle",
            group.title,
        );
    }
    let note = "Processor time of the proxy for one query, medians, 64 connections";
    text(&mut svg, (WIDTH / 2.0, low + 42.0), "soft", "middle", note);
    Some(svg + "</svg>\n")
}

fn group<'a>(
    results: &'a Results,
    (backend, workload, title, connections): &(Kind, &str, &'a str, usize),
) -> Option<Group<'a>> {
    let comparison = results.comparison(*backend, workload, *connections)?;
    let cpu = |summary: &Summary| Some(summary.proxy_cpu_us?.sum()).filter(|cpu| *cpu > 0.0);
    let contestants = comparison.contestants.iter();
    let mut bars: Vec<(&str, f64)> = contestants
        .filter(|(name, _)| !is_ours(name) || SHOWN.contains(&name.as_str()))
        .filter_map(|(name, summary)| Some((name.as_str(), cpu(summary)?)))
        .collect();
    bars.sort_by_key(|(name, _)| order(name));
    (bars.len() > 1).then_some(Group { title, bars })
}

/// Of Pilotfish's own kinds of sessions these are shown.
const SHOWN: [&str; 3] = [
    crate::run::contestant::names::PILOTFISH,
    crate::run::contestant::names::POOLED[0],
    crate::run::contestant::names::LANES,
];
