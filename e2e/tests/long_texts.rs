//! Long texts, which a separate thread of the proxy reads one after the other.

use std::sync::Mutex;
use std::thread;

use e2e::raw::{RawConn, Shape};
use e2e::{Product, Proxy, Server, Settings, wait};

both! {
    a_long_text_that_waits_for_another_is_killed
}

fn a_long_text_that_waits_for_another_is_killed(product: Product) {
    let server = Server::lease(product);
    let proxy = Proxy::start(&Settings::pooled(&server, 4));
    let [mut first, mut second, mut killer] = [(); 3].map(|()| proxy.connect());
    let kill = format!("KILL QUERY {}", second.id);
    // Names take the longest to read. The server answers with a syntax error.
    let text = format!("SELECT FROM a WHERE {}1", "a.b,".repeat(3 << 20));
    let errors = Mutex::new(Vec::new());
    for conn in [&mut first, &mut second] {
        conn.send_query(&text).unwrap();
    }
    let hear = |conn: &mut RawConn| {
        let reply = conn.reply(Shape::Results);
        errors.lock().unwrap().push(reply.error().unwrap().code);
    };
    thread::scope(|scope| {
        for conn in [&mut first, &mut second] {
            let hear = &hear;
            scope.spawn(move || hear(conn));
        }
        wait::until("both have replies", wait::SOON, || {
            killer.run(&kill);
            errors.lock().unwrap().len() == 2
        });
    });
    let errors = errors.into_inner().unwrap();
    assert_eq!(
        errors,
        [1317, 1064],
        "the second one does not wait for the first"
    );
    assert_eq!(second.value("SELECT 1"), "1");
    proxy.assert_sound();
}
