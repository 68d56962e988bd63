//! Servers before protocol 4.1, played by scripted servers: their EOF packet is one byte, without warnings and flags.

use e2e::raw::{Login, Outcome, RawConn, Shape, capability, command, lenenc};
use e2e::scripted::{Dialogue, SCRAMBLE};
use e2e::{Folder, Proxy, Scripted, Settings};

const OLD_EOF: &[u8] = &[0xFE];

/// The server's capabilities: it sends EOF packets in all results.
const CAPABILITIES: u64 = (capability::USUAL & !capability::DEPRECATE_EOF) | 1;

fn greet(dialogue: &mut Dialogue) -> std::io::Result<()> {
    let capabilities = CAPABILITIES.to_le_bytes();
    let body = [
        b"\x0a4.0.30-scripted\0\x07\0\0\0",
        &SCRAMBLE[..8],
        b"\0",
        &capabilities[..2],
        &[8, 2, 0],
        &capabilities[2..4],
        b"\x15\0\0\0\0\0\0\0\0\0\0",
        &SCRAMBLE[8..],
        b"\0mysql_native_password\0",
    ];
    dialogue.send(&body.concat())
}

/// Answers a query with a row that has the query's text, and COM_FIELD_LIST with columns.
fn answer(dialogue: &mut Dialogue) -> std::io::Result<()> {
    greet(dialogue)?;
    dialogue.read()?;
    dialogue.send_ok()?;
    loop {
        let said = dialogue.read()?;
        match said.first() {
            Some(&command::QUIT) => return Ok(()),
            Some(&command::QUERY) => {
                dialogue.send(&[1])?;
                dialogue.send_rows_after_count("n", &[])?;
                dialogue.send(OLD_EOF)?;
                let text = String::from_utf8_lossy(&said[1..]).into_owned();
                dialogue.send(&lenenc(text.as_bytes()))?;
                dialogue.send(OLD_EOF)?;
            }
            Some(&command::FIELD_LIST) => {
                dialogue.send_rows_after_count("n", &[])?;
                dialogue.send(OLD_EOF)?;
            }
            Some(&command::SET_OPTION) => dialogue.send(OLD_EOF)?,
            _ => dialogue.send_ok()?,
        }
    }
}

fn is_understood(settings: Settings) {
    let proxy = Proxy::start(&settings);
    let login = Login::app().without(capability::DEPRECATE_EOF);
    let mut conn: RawConn = proxy.connect_as(&login);
    for round in 0..2 {
        let text = format!("SELECT {round}");
        assert_eq!(conn.value(&text), text);
        assert!(conn.command(command::PING, b"").error().is_none());
        conn.send(&[&[command::FIELD_LIST][..], b"t\0"].concat());
        let listed = conn.reply(Shape::Columns);
        assert!(
            matches!(&listed.outcomes[..], [Outcome::Rows(columns)] if columns.rows.len() == 1),
            "{listed:?}"
        );
        let set = conn.command(command::SET_OPTION, &[0, 0]);
        assert!(set.error().is_none());
    }
    proxy.assert_sound();
}

#[test]
fn an_eof_of_one_byte_is_understood() {
    let server = Scripted::start(answer);
    is_understood(Settings::default().backend(server.tcp()));
}

/// Each command is sent by the script, which reads the columns and the rows of each result.
#[test]
fn an_eof_of_one_byte_is_understood_by_scripts() {
    let server = Scripted::start(answer);
    let folder = Folder::new("files");
    let file = folder.path().join("reads.lua");
    let script = "
        function read_query(packet)
            proxy.queries:append(packet:byte(), packet, { resultset_is_needed = true })
            return proxy.PROXY_SEND_QUERY
        end
        function read_query_result(inj)
            if inj.id ~= proxy.COM_QUERY then return end
            assert(#inj.resultset.fields == 1 and inj.resultset.fields[1].name == 'n')
            local rows = {}
            for row in inj.resultset.rows do rows[#rows + 1] = row end
            assert(#rows == 1 and inj.resultset.row_count == 1)
            proxy.response = {
                type = proxy.MYSQLD_PACKET_OK,
                resultset = { fields = { { name = 'n', type = proxy.MYSQL_TYPE_STRING } }, rows = rows },
            }
            return proxy.PROXY_SEND_RESULT
        end";
    std::fs::write(&file, script).unwrap();
    let settings = Settings::default().backend(server.tcp());
    is_understood(settings.set("routing.script", file.display().to_string().as_str()));
}
