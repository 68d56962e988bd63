#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 3306))
}

/// Returns the two ends of a connection whose link has this weather.
fn connected(weather: Weather) -> (Rc<Hosts>, End, End) {
    let hosts = Hosts::new(Dice::new(1));
    hosts.set_fair_weather(weather);
    let accepted = Rc::new(RefCell::new(None));
    let kept = Rc::clone(&accepted);
    hosts.listen(
        address(2),
        Rc::new(move |end, _| *kept.borrow_mut() = Some(end)),
    );
    let near = hosts.connect_from(address(1).ip(), address(2));
    let far = accepted.borrow_mut().take().unwrap();
    (hosts, near.unwrap().unwrap(), far)
}

#[tokio::test(start_paused = true)]
async fn bytes_arrive_in_order_and_the_end_behind_them() {
    let (_hosts, mut near, mut far) = connected(Weather::default());
    near.write_all(b"one").await.unwrap();
    near.write_all(b"two").await.unwrap();
    drop(near);
    let mut all = Vec::new();
    far.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"onetwo");
}

#[tokio::test(start_paused = true)]
async fn a_delayed_byte_arrives_when_its_delay_is_over() {
    let weather = Weather {
        delay: Duration::from_millis(30),
        ..Weather::default()
    };
    let (_hosts, mut near, mut far) = connected(weather);
    let began = net::clock::now();
    near.write_all(b"late").await.unwrap();
    assert!(far.is_silent());
    let mut all = [0; 4];
    far.read_exact(&mut all).await.unwrap();
    assert_eq!(net::clock::now() - began, Duration::from_millis(30));
}

#[tokio::test(start_paused = true)]
async fn a_cut_link_holds_bytes_until_it_is_whole_again() {
    let (hosts, mut near, mut far) = connected(Weather::default());
    let cut = Weather {
        is_cut: true,
        ..Weather::default()
    };
    hosts.set_weather(address(1).ip(), address(2).ip(), cut);
    near.write_all(b"held").await.unwrap();
    assert!(far.is_silent());
    assert!(matches!(
        hosts.connect_from(address(1).ip(), address(2)),
        Ok(None)
    ));
    hosts.set_weather(address(1).ip(), address(2).ip(), Weather::default());
    let mut all = [0; 4];
    far.read_exact(&mut all).await.unwrap();
    assert_eq!(&all, b"held");
}

#[tokio::test(start_paused = true)]
async fn an_aborted_connection_is_reset_for_the_other_side() {
    let (_hosts, mut near, far) = connected(Weather::default());
    Box::new(far).abort();
    let error = near.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[tokio::test(start_paused = true)]
async fn an_address_without_a_listener_refuses_connections() {
    let (hosts, ..) = connected(Weather::default());
    let refused = hosts.connect_from(address(1).ip(), address(9)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
}
