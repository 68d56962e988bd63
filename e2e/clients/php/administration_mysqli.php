<?php
// The admin port through PHP's mysqli on mysqlnd.

declare(strict_types=1);

require __DIR__ . '/administration.php';

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

function connect(?string $password = null): mysqli
{
    $mysqli = mysqli_init();
    $flags = 0;
    if (is_on('CLIENT_TLS')) {
        $mysqli->ssl_set(null, null, null, null, null);
        $flags |= MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT;
    }
    $mysqli->real_connect(setting('CLIENT_HOST'), setting('CLIENT_USER'),
        $password ?? setting('CLIENT_PASSWORD'), setting('CLIENT_DATABASE'), (int) setting('CLIENT_PORT'), null, $flags);
    $mysqli->set_charset('utf8mb4');
    return $mysqli;
}

function rows(mysqli $mysqli, string $query, array $values): array
{
    return $mysqli->execute_query($query, $values)->fetch_all();
}

$mysqli = connect();
$change = function (string $query) use ($mysqli): int {
    $mysqli->query($query);
    return $mysqli->affected_rows;
};
administer($mysqli, connect(...), rows(...), $change, fn(mysqli_sql_exception $error) => $error->getCode());
