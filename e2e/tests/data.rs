//! Tables that the scenarios fill.

use e2e::raw::RawConn;

/// A table `name` with the numbers from 1 to `count` in its column `n`.
pub fn numbers(conn: &mut RawConn, name: &str, count: u32) {
    conn.run(&format!(
        "CREATE TABLE {name} (n INT PRIMARY KEY, t VARCHAR(100))"
    ));
    for from in (1..=count).step_by(5000) {
        let to = count.min(from + 4999);
        let rows: Vec<String> = (from..=to).map(|n| format!("({n},'row {n}')")).collect();
        conn.run(&format!("INSERT INTO {name} VALUES {}", rows.join(",")));
    }
}

/// A table `kinds` with a column of each kind, and rows with special values.
pub fn kinds(conn: &mut RawConn) {
    conn.run(
        "CREATE TABLE kinds (id INT PRIMARY KEY AUTO_INCREMENT, ti TINYINT, si SMALLINT UNSIGNED, \
         mi MEDIUMINT, bi BIGINT UNSIGNED, f FLOAT, d DOUBLE, de DECIMAL(30,10), bt BIT(10), \
         dt DATE, tm TIME(6), dtm DATETIME(6), ts TIMESTAMP NULL, y YEAR, c CHAR(5), \
         vc VARCHAR(300) CHARACTER SET utf8mb4, vb VARBINARY(10), tx TEXT, bl LONGBLOB, \
         e ENUM('a','b'), s SET('x','y','z'), js JSON, g GEOMETRY)",
    );
    conn.run(
        "INSERT INTO kinds VALUES (NULL, -128, 65535, -8388608, 18446744073709551615, 1.5, \
         -2.25e100, 12345678901234567890.0123456789, b'1010101010', '2024-02-29', \
         '-838:59:58.123456', '1999-12-31 23:59:59.999999', '2001-01-01 00:00:00', 1955, 'char', \
         'größer 🐟', 0x00FF00, 'text', 0xDEADBEEF, 'b', 'x,z', '{\"a\": [1, 2]}', \
         ST_GeomFromText('POINT(1 2)'))",
    );
    let nulls = ["NULL"; 23].join(",");
    conn.run(&format!("INSERT INTO kinds VALUES ({nulls})"));
    conn.run(
        "INSERT INTO kinds (ti, tm, dtm, vc, tx) VALUES (0, '00:00:00', '2024-01-01 00:00:00', '', \
         REPEAT('long ', 100))",
    );
}
