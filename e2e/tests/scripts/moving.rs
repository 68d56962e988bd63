//! An existing installation of MySQL Proxy: its defaults file, its folders, its script with a module.

use super::*;

both! { an_installation_runs_with_its_own_files }

fn an_installation_runs_with_its_own_files(product: Product) {
    let folder = Folder::new("files");
    let modules = folder.path().join("lib/mysql-proxy/lua");
    fs::create_dir_all(&modules).unwrap();
    fs::write(
        modules.join("ours.lua"),
        "module('ours', package.seeall) function says() return 'from our module' end",
    )
    .unwrap();
    fs::write(
        folder.path().join("site.lua"),
        r#"
        require("ours")
        local tokenizer = require("proxy.tokenizer")
        function read_query(packet)
            if packet:byte() == proxy.COM_QUERY and tokenizer.tokenize(packet:sub(2))[1].text == "HELLO" then
                proxy.response.type = proxy.MYSQLD_PACKET_OK
                proxy.response.resultset = {
                    fields = { { type = proxy.MYSQL_TYPE_STRING, name = "hello" } },
                    rows = { { ours.says() } },
                }
                return proxy.PROXY_SEND_RESULT
            end
        end
        "#,
    )
    .unwrap();
    let port = e2e::free_port();
    let base = folder.path().display();
    let defaults = format!(
        "[mysql-proxy]\nbasedir={base}\nproxy-address=127.0.0.1:{port}\n\
         proxy-backend-addresses={}\nproxy-lua-script=site.lua\nlog-level=message\n\
         daemon=true\nkeepalive=true\nevent-threads=2\nplugin-dir={base}/lib/mysql-proxy/plugins\nplugins=proxy\n",
        Server::shared(product).tcp()
    );
    let file = folder.path().join("mysql-proxy.cnf");
    fs::write(&file, defaults).unwrap();
    let argument = format!("--defaults-file={}", file.display());
    let (status, text) = Proxy::run_to_the_end(&[&argument, "--check"]);
    assert!(status.success(), "{text}");
    // The check prints the result of each option with the option's line.
    for (line, said) in [
        (7, "daemon: Pilotfish stays in the foreground"),
        (8, "keepalive: there is no second process"),
        (10, "plugin-dir"),
    ] {
        let line = format!("mysql-proxy.cnf:{line}:1: ");
        let told = text.lines().find(|it| it.contains(&line));
        assert!(told.is_some_and(|it| it.contains(said)), "{text}");
    }
    let proxy = Proxy::start_with(&[&argument]);
    proxy.wait_logged(&["daemon: Pilotfish stays in the foreground"]);
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let mut conn = RawConn::connect(&address.into(), &Login::app()).unwrap();
    assert_eq!(conn.value("HELLO"), "from our module");
    assert_eq!(conn.value("SELECT 'passes'"), "passes");
}
