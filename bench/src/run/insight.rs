//! What insight costs: digests counted or not, ten thousand of them read while clients work, their memory, and the
//! bytes of the dashboard. Pilotfish alone, before the minimal backend.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::backend::Backend;
use super::contestant::{Place, pilotfish};
use super::process::{Process, free_address};
use super::{backend, generator, watched_of};
use crate::accounting::rss_bytes;
use crate::load::{Findings, Session, Workload};
use crate::results::{self, Insight, Looks, median};

/// Clients at work.
const CLIENTS: usize = 64;

/// How many statements are told apart.
const DIGESTS: u64 = 10_000;

/// Loads after which that many must be known.
const FILLS_MAX: usize = 60;

/// Between two looks: whoever watches a page asks once a second.
const PAUSE: Duration = Duration::from_secs(1);

/// The fewest looks that a figure is made of.
const WINDOW_MIN: Duration = Duration::from_secs(4);

const LOOK: &str = "SELECT * FROM digests";

/// `root:bench`
const CREDENTIALS: &str = "cm9vdDpiZW5jaA==";

/// Whether statements are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Nothing,
    Digests,
}

/// A Pilotfish process, and the address of its views.
struct Watching {
    process: Process,
    address: SocketAddr,
    admin: SocketAddr,
    http: SocketAddr,
}

/// Runs all measurements, in several rounds.
///
/// # Errors
/// When a proxy does not come up, or cannot be asked.
pub async fn measure(
    backend: &Backend,
    folder: &Path,
    rounds: usize,
    (warm_up, window): (Duration, Duration),
) -> Result<Insight> {
    let times = (warm_up, window.max(WINDOW_MIN));
    let mut all: Vec<Looks> = Vec::new();
    let mut page = None;
    for round in 0..rounds {
        let mut looks = Looks::default();
        let mut both = [Counts::Nothing, Counts::Digests];
        // Neither is always first.
        both.rotate_left(round % 2);
        for counts in both {
            let proxy = Watching::start(backend, folder, counts).await?;
            let found = proxy.load(backend, Workload::Point, times).await?;
            let cpu = found
                .used_by(results::PROXY)
                .map_or(0.0, |usage| usage.cpu_us());
            match counts {
                Counts::Nothing => {
                    (looks.cpu_off_us, looks.p99_off_us) = (cpu, found.latency_us.p99)
                }
                Counts::Digests => (looks.cpu_on_us, looks.p99_on_us) = (cpu, found.latency_us.p99),
            }
            looks.errors += found.errors.count();
        }
        let proxy = Watching::start(backend, folder, Counts::Digests).await?;
        proxy.read_digests(backend, times, &mut looks).await?;
        eprintln!(
            "{} insight: cpu {:.2} and {:.2} µs, {} digests in {:.1} MiB, read in {:.1} ms (at most {:.1}) {} times, \
             p99 {:.0} and {:.0} µs, {} errors",
            round + 1,
            looks.cpu_off_us,
            looks.cpu_on_us,
            looks.digests,
            looks.growth_bytes as f64 / f64::from(1 << 20),
            looks.select_ms,
            looks.select_max_ms,
            looks.selects,
            looks.p99_alone_us,
            looks.p99_looked_us,
            looks.errors,
        );
        page = proxy.page().await?;
        all.push(looks);
    }
    let of = |figure: fn(&Looks) -> f64| median(all.iter().map(figure)).unwrap_or_default();
    Ok(Insight {
        cpu_added_us: of(|it| it.cpu_on_us - it.cpu_off_us),
        p99_ratio: of(|it| it.p99_looked_us / it.p99_alone_us),
        select_ms: of(|it| it.select_ms),
        growth_bytes: of(|it| it.growth_bytes as f64),
        page_bytes: page.map(|(bytes, _)| bytes),
        page_ms: page.map(|(_, ms)| ms),
        clients: CLIENTS as u64,
        rounds: all,
    })
}

impl Watching {
    async fn start(backend: &Backend, folder: &Path, counts: Counts) -> Result<Self> {
        let program = pilotfish::program().context("Pilotfish is not found")?;
        let (listen, admin, http) = (free_address()?, free_address()?, free_address()?);
        let folder = folder.join(format!("insight-{}", listen.port()));
        fs::create_dir(&folder)?;
        let backends = backend.addresses();
        let place = Place {
            folder: &folder,
            listen,
            admin,
            backends: &backends,
            sessions_max: CLIENTS,
        };
        let looked_at = format!(
            "[admin]\naddress = \"{admin}\"\nusername = \"root\"\npassword = \"bench\"\nrows_max = 100000\n\
             [http]\naddress = \"{http}\"\n[statement_stats]\ndigests = {}\n",
            counts == Counts::Digests
        );
        let pool = ("lanes = \"off\"", "backend_connections_max = 8");
        let command = pilotfish::pooled(&program, &place, 1, pool, &looked_at)?;
        let process = Process::listening("pilotfish-insight", command, &folder, listen).await?;
        Ok(Self {
            process,
            address: listen,
            admin,
            http,
        })
    }

    async fn load(
        &self,
        backend: &Backend,
        workload: Workload,
        times: (Duration, Duration),
    ) -> Result<Findings> {
        let watched = watched_of(Some(self.process.pid()), backend);
        generator::load(self.address, workload, CLIENTS, DIGESTS, times, &watched).await
    }

    /// Makes so many digests known, and has them read while the clients that made them go on.
    async fn read_digests(
        &self,
        backend: &Backend,
        times: (Duration, Duration),
        looks: &mut Looks,
    ) -> Result<()> {
        // The memory of sessions, of their connections and of the first answer is not counted for digests.
        self.load(backend, Workload::Point, times).await?;
        let mut admin = self.look_in().await?;
        admin.look(LOOK).await?;
        let before = rss_bytes(self.process.pid())?;
        let workload = Workload::Digests(DIGESTS);
        for _ in 0..FILLS_MAX {
            self.load(backend, workload, (Duration::ZERO, times.1))
                .await?;
            looks.digests = admin.look(LOOK).await?;
            if looks.digests >= DIGESTS {
                break;
            }
        }
        ensure!(
            looks.digests >= DIGESTS,
            "there are only {} digests",
            looks.digests
        );
        looks.growth_bytes = rss_bytes(self.process.pid())?.saturating_sub(before);
        let alone = self.load(backend, workload, times).await?;
        looks.p99_alone_us = alone.latency_us.p99;
        let mut taken_ms: Vec<f64> = Vec::new();
        let looked = tokio::select! {
            looked = self.load(backend, workload, times) => looked?,
            failed = look_often(&mut admin, &mut taken_ms) => return Err(failed),
        };
        looks.p99_looked_us = looked.latency_us.p99;
        looks.errors += alone.errors.count() + looked.errors.count();
        looks.selects = taken_ms.len() as u64;
        looks.select_ms = median(taken_ms.iter().copied()).unwrap_or_default();
        looks.select_max_ms = taken_ms.iter().copied().fold(0.0, f64::max);
        Ok(())
    }

    async fn look_in(&self) -> Result<Session> {
        let mut target = backend::target(self.admin, 1);
        "root".clone_into(&mut target.user);
        "bench".clone_into(&mut target.password);
        target.schema.clear();
        Ok(Session::open(&target).await?)
    }

    /// What a browser has to fetch before it shows something, in bytes as they are sent, and how many milliseconds
    /// that takes without a browser; none where the page was not built.
    async fn page(&self) -> Result<Option<(u64, f64)>> {
        let html = fetch(self.http, "/", "identity").await?;
        let html = String::from_utf8_lossy(&html).into_owned();
        let paths = ["src=\"", "href=\""].into_iter().flat_map(|before| {
            let found = html.split(before).skip(1);
            found.filter_map(|rest| rest.split('"').next())
        });
        let paths: Vec<_> = paths
            .filter(|it| it.ends_with(".js") || it.ends_with(".css"))
            .collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let begun = Instant::now();
        let mut bytes = 0;
        for path in std::iter::once("/").chain(paths) {
            let path = format!("/{}", path.trim_start_matches(['.', '/']));
            bytes += fetch(self.http, &path, "gzip").await?.len() as u64;
        }
        Ok(Some((bytes, begun.elapsed().as_secs_f64() * 1e3)))
    }
}

/// Asks for all digests again and again; ends when that fails.
async fn look_often(admin: &mut Session, taken_ms: &mut Vec<f64>) -> anyhow::Error {
    loop {
        sleep(PAUSE).await;
        let begun = Instant::now();
        if let Err(failure) = admin.look(LOOK).await {
            return failure.into();
        }
        taken_ms.push(begun.elapsed().as_secs_f64() * 1e3);
    }
}

/// The body of an answer.
async fn fetch(address: SocketAddr, path: &str, encoding: &str) -> Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {CREDENTIALS}\r\n\
         Accept-Encoding: {encoding}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let end = end.context("no answer over HTTP")?;
    ensure!(
        answer.starts_with(b"HTTP/1.1 200"),
        "{path}: {}",
        String::from_utf8_lossy(&answer[..end])
    );
    Ok(answer.split_off(end + 4))
}
