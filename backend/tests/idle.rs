//! Idle connections: they are pinged, closed in time, and not leased if the server has closed them.

use std::rc::Rc;
use std::time::Duration;

use config::Config;
use dialogues::backends::backend;
use dialogues::peer::{Peer, err, packet};
use dialogues::pool_scene::{PoolScene, answer, text_of};
use dialogues::{play, settle};
use pilotfish_backend::privilege_changes::AffectedUsers;

/// The commands that the server receives on an idle connection until the proxy closes it.
async fn heard_until_closed(db: &mut Peer) -> Vec<String> {
    let mut read = Vec::new();
    loop {
        db.begin_at(0);
        let Ok(command) = db.try_hear().await else {
            return read;
        };
        let text = text_of(&command);
        if text != "COM_QUIT" {
            db.send(&answer(&text)).await;
        }
        read.push(text);
    }
}

fn config(change: impl FnOnce(&mut config::PoolConfig)) -> Config {
    let mut config = Config::default();
    config.pool.globals_interval = Duration::ZERO;
    change(&mut config.pool);
    config
}

/// Opens and releases a connection; returns the commands it gets while idle, and how long it stays open.
async fn life(config: Config) -> (Vec<String>, Duration) {
    let mut scene = PoolScene::new(config, backend(1));
    let (held, mut db) = scene.open().await;
    let began = net::clock::now();
    scene.pool.give_back(held);
    let read = heard_until_closed(&mut db).await;
    (read, net::clock::now() - began)
}

#[test]
fn an_idle_connection_is_closed_politely_after_its_time() {
    play(async {
        let config = config(|pool| {
            pool.ping_interval = Duration::ZERO;
            pool.login_age_max = Duration::ZERO;
            pool.timeout_idle = Duration::from_secs(40);
        });
        let (read, stayed) = life(config).await;
        assert_eq!(read, ["COM_QUIT"]);
        assert!(stayed >= Duration::from_secs(40), "{stayed:?}");
        assert!(stayed < Duration::from_secs(50), "{stayed:?}");
    });
}

#[test]
fn an_idle_connection_is_pinged_so_that_its_end_is_noticed() {
    play(async {
        let config = config(|pool| {
            pool.ping_interval = Duration::from_secs(10);
            pool.login_age_max = Duration::ZERO;
            pool.timeout_idle = Duration::from_secs(35);
        });
        let (read, _) = life(config).await;
        assert_eq!(read, ["COM_PING", "COM_PING", "COM_PING", "COM_QUIT"]);
    });
}

#[test]
fn a_connection_with_privileges_of_long_ago_is_closed() {
    play(async {
        let config = config(|pool| {
            pool.ping_interval = Duration::ZERO;
            pool.timeout_idle = Duration::ZERO;
            pool.login_age_max = Duration::from_secs(60);
        });
        let (read, stayed) = life(config).await;
        assert_eq!(read, ["COM_QUIT"]);
        // A random tenth is subtracted, so that connections opened together are not closed together.
        assert!(stayed >= Duration::from_secs(54), "{stayed:?}");
        assert!(stayed <= Duration::from_secs(61), "{stayed:?}");
    });
}

#[test]
fn a_connection_that_its_server_has_closed_or_spoken_on_is_not_lent() {
    for farewell in [
        None,
        Some(packet(0, &err(1053, "Server shutdown in progress"))),
    ] {
        play(async {
            let mut scene = PoolScene::new(config(|_| ()), backend(1));
            let (held, mut db) = scene.open().await;
            scene.pool.give_back(held);
            match &farewell {
                Some(farewell) => db.send(farewell).await,
                None => drop(db),
            }
            settle().await;
            let (held, _db) = scene.open().await;
            assert_eq!(held.conn.thread_id, 2);
        });
    }
}

#[test]
fn a_grant_to_one_user_closes_no_connection_of_another() {
    play(async {
        let mut scene = PoolScene::new(config(|_| ()), backend(1));
        let (held, _db) = scene.open().await;
        scene.pool.give_back(held);
        let shared = Rc::clone(&scene.environment.pool);
        let changed = |user: &[u8]| {
            let users = AffectedUsers::Users(vec![user.to_vec()]);
            shared.shared.privileges_changed(users);
        };
        changed(b"other");
        settle().await;
        let held = scene.take().await;
        assert_eq!(held.conn.thread_id, 1);
        changed(b"app");
        assert!(held.conn.is_outdated(&scene.environment.pool));
    });
}

#[test]
fn grants_to_too_many_users_make_every_connection_outdated() {
    play(async {
        let mut scene = PoolScene::new(config(|_| ()), backend(1));
        let (held, _db) = scene.open().await;
        let users = (0..10_000_u32).map(|number| number.to_be_bytes().to_vec());
        let privileges = &scene.environment.pool.shared.privileges;
        privileges.change(AffectedUsers::Users(users.collect()));
        assert!(!held.conn.is_outdated(&scene.environment.pool));
        privileges.change(AffectedUsers::Users(vec![b"one more".to_vec()]));
        assert!(held.conn.is_outdated(&scene.environment.pool));
    });
}
