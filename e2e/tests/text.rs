//! The text protocol.

use e2e::Site;
use e2e::raw::Transcript;

scenario!(a_result_arrives_whole on mariadb, mysql: |site: &Site| {
    let mut conn = site.connect();
    let reply = conn.run("SELECT 1 AS one, NULL AS nothing, 'text' AS text, 1.50 AS decimal_number");
    assert_eq!(reply.texts(), [["1", "NULL", "text", "1.50"]]);
    conn.transcript()
});
