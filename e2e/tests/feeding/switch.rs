//! The primary changes behind the proxy.

use e2e::{Cluster, set_read_only, take_writes};

use super::*;

both! {
    replicas_keep_their_place_when_the_primary_changes
}

/// Settings of a proxy that follows the primary of two servers and feeds replicas.
fn settings(servers: [&Server; 2], folder: &Path, port: u16) -> String {
    let own = Settings::default()
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD)
        .set("health.monitor_interval", "100ms")
        .set("health.replication_interval", "100ms");
    let own = servers.iter().fold(own, |own, server| {
        own.backend_with(server.tcp(), &[("role", "\"auto\"")])
    });
    let (own, folder) = (own.to_toml(), folder.display());
    format!(
        "{own}\n\
         [schema_history]\nfile = \"{folder}/schemas.db\"\n\
         [[replication]]\nuser = \"app\"\npassword = \"{PASSWORD}\"\nserver_id = 4242\n\
         relay_folder = \"{folder}/relay\"\n\
         [[listener]]\naddress = \"127.0.0.1:{port}\"\nserves = \"replication\"\n\
         [[account]]\nuser = \"app\"\npassword = \"{PASSWORD}\"\nreplication = true\n"
    )
}

fn write(server: &Server, numbers: std::ops::Range<u32>) {
    let mut root = server.root();
    for number in numbers {
        root.run(&format!("INSERT INTO shop.orders VALUES ({number}, 'x')"));
    }
}

/// Waits until a replica has all transactions of a server, and compares their tables.
fn check(replica: &Server, source: &Server) {
    let all = source.root().value(position(source.product));
    wait_reached(replica, &all);
    let checksum = |server: &Server| {
        let reply = server.root().run("CHECKSUM TABLE shop.orders");
        reply.text(0, 1).unwrap()
    };
    assert_eq!(checksum(replica), checksum(source));
}

fn replicas_keep_their_place_when_the_primary_changes(product: Product) {
    let mut cluster = Cluster::lease(product, 1);
    let folder = Folder::new("files");
    std::fs::create_dir(folder.path().join("relay")).unwrap();
    let port = free_port();
    let text = settings(
        [&cluster.primary, &cluster.replicas[0]],
        folder.path(),
        port,
    );
    let config = folder.path().join("pilotfish.toml");
    std::fs::write(&config, text).unwrap();
    let at = cluster.primary.root().value(position(product));
    let proxy = serve(&config, port);
    let fed = restored(product, 5, &at, &[]);
    follow(&fed, port);
    let mut root = cluster.primary.root();
    root.run("CREATE DATABASE shop");
    root.run("CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)");
    write(&cluster.primary, 0..20);
    check(&fed, &cluster.primary);
    cluster.wait_caught_up();

    set_read_only(&cluster.primary);
    cluster.stop_replication(0);
    take_writes(&cluster.replicas[0]);
    write(&cluster.replicas[0], 20..40);
    check(&fed, &cluster.replicas[0]);
    // Nothing needs the old primary any more.
    cluster.primary.kill();
    write(&cluster.replicas[0], 40..60);
    check(&fed, &cluster.replicas[0]);
    let late = restored(product, 6, &at, &[]);
    follow(&late, port);
    check(&late, &cluster.replicas[0]);
    proxy.stop();
}
