//! Limits of the number of sessions, and of the time for a login.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use simulation::network::End;
use simulation::scene::{Scene, on_both, pass, refusal, settle};
use simulation::world::proxy_address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn a_client_over_the_limit_of_sessions_is_refused() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let one = scene.client().await;
            let mut two = scene.client().await;
            let refused = refusal(scene.another().await);
            assert_eq!(refused.number, 1040);
            assert!(refused.text.contains("sessions_max"), "{refused:?}");
            two.run("SELECT 1").await;
            one.quit().await;
            settle().await;
            assert!(scene.another().await.is_ok());
        };
        setup.set("limits.sessions_max", "2").play(play).await;
    });
}

#[test]
fn a_client_over_a_backends_limit_is_refused() {
    on_both(async |setup| {
        let setup = setup
            .set("limits.backend_sessions_max", "1")
            .second_listener("routing.session = \"transparent\"");
        let play = async |scene: &Scene| {
            let one = scene.client_on_second().await;
            assert_eq!(refusal(scene.another_on_second().await).number, 1040);
            one.quit().await;
            settle().await;
            assert!(scene.another_on_second().await.is_ok());
        };
        setup.play(play).await;
    });
}

#[test]
fn a_client_over_the_limit_may_wait_for_a_place() {
    on_both(async |setup| {
        let setup = setup
            .set("limits.sessions_max", "1")
            .set("limits.over_limit", "\"wait\"")
            .set("limits.timeout_over_limit", "\"60s\"");
        let play = async |scene: &Scene| {
            let one = scene.client().await;
            let (waited, ()) = tokio::join!(scene.another(), async {
                pass(Duration::from_secs(59)).await;
                one.quit().await;
            });
            let mut waited = waited.unwrap();
            assert_eq!(waited.value("SELECT 'waited'").await, "waited");
            assert_eq!(refusal(scene.another().await).number, 1040);
        };
        setup.play(play).await;
    });
}

/// Opens a connection to the proxy without a login.
fn connect(scene: &Scene) -> End {
    let from = IpAddr::V4(Ipv4Addr::new(10, 2, 0, 2));
    let end = scene.hosts.connect_from(from, proxy_address(0, 0));
    end.unwrap().unwrap()
}

/// Reads until the end of the connection, and returns the bytes as a text.
async fn rest(mut end: End) -> String {
    let mut bytes = Vec::new();
    end.read_to_end(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_silent_client_is_cut_off() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let silent = connect(scene);
            let begun = tokio::time::Instant::now();
            let text = rest(silent).await;
            assert!(text.contains("timeout_login"), "{text}");
            assert_eq!(begun.elapsed().as_secs(), 10);
        };
        setup
            .set("limits.timeout_login", "\"10s\"")
            .play(play)
            .await;
    });
}

#[test]
fn a_client_that_sends_a_byte_at_a_time_is_cut_off() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let (reader, mut writer) = tokio::io::split(connect(scene));
            let mut reader = reader;
            let begun = tokio::time::Instant::now();
            let slow = async {
                for byte in [200, 0, 0, 1].into_iter().chain(std::iter::repeat(0)) {
                    pass(Duration::from_secs(1)).await;
                    if writer.write_all(&[byte]).await.is_err() {
                        return;
                    }
                }
            };
            let read = async {
                let mut bytes = Vec::new();
                // The proxy may end the connection with a reset.
                let _ = reader.read_to_end(&mut bytes).await;
            };
            tokio::select! {
                () = slow => {}
                () = read => {}
            }
            assert!(begun.elapsed() < Duration::from_secs(12));
            assert_eq!(scene.client().await.value("SELECT 1").await, "1");
        };
        setup
            .set("limits.timeout_login", "\"10s\"")
            .play(play)
            .await;
    });
}

#[test]
fn client_can_log_in_while_many_connections_stay_silent() {
    on_both(async |setup| {
        let play = async |scene: &Scene| {
            let silent: Vec<End> = (0..100).map(|_| connect(scene)).collect();
            scene.client().await.run("SELECT 1").await;
            drop(silent);
        };
        setup
            .set("limits.timeout_login", "\"60s\"")
            .play(play)
            .await;
    });
}
