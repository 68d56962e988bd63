//! Repeated failed logins. They delay only logins of the same user, never past the login's time limit. They block their
//! host if that is configured. The scenes run on MariaDB only: with MySQL the proxy asks for a wrong password again in
//! clear text, and these clients do not send it.

use std::time::Duration;

use simulation::scene::{APP, OTHER, Scene, on, refusal};
use simulation::server::Family;
use tokio::time::Instant;

async fn fail(scene: &Scene, user: &str) {
    assert_eq!(refusal(scene.try_client(user, "wrong").await).number, 1045);
}

#[test]
fn a_right_password_is_let_in_however_often_its_user_has_failed() {
    on(Family::MariaDb, async |setup| {
        let play = async |scene: &Scene| {
            // Nine failures are enough for the longest delay.
            for _ in 0..9 {
                fail(scene, APP).await;
            }
            let begun = Instant::now();
            scene.client_of(OTHER).await.run("DO 1").await;
            assert!(begun.elapsed() < Duration::from_secs(1));
            scene.client().await.run("DO 1").await;
            assert!(begun.elapsed() < Duration::from_secs(30));
        };
        setup
            .set("limits.timeout_login", "\"30s\"")
            .play(play)
            .await;
    });
}

#[test]
fn a_host_whose_logins_fail_in_a_row_is_blocked() {
    on(Family::MariaDb, async |setup| {
        let setup = setup
            .set("accounts.delay_failures", "false")
            .set("limits.connect_errors_max", "3");
        let play = async |scene: &Scene| {
            fail(scene, APP).await;
            fail(scene, APP).await;
            // A successful login resets the count of failures.
            let mut before = scene.client().await;
            for _ in 0..3 {
                fail(scene, APP).await;
            }
            assert_eq!(refusal(scene.another().await).number, 1129);
            // The block does not end open sessions.
            before.run("DO 1").await;
        };
        setup.play(play).await;
    });
}
