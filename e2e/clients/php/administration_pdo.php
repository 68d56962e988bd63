<?php
// The admin port through PHP's PDO on mysqlnd, with statements prepared there.

declare(strict_types=1);

require __DIR__ . '/administration.php';

function connect(?string $password = null): PDO
{
    $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => false];
    if (is_on('CLIENT_TLS')) {
        $options[PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT] = false;
        $options[PDO::MYSQL_ATTR_SSL_CA] = '/dev/null'; // a value switches TLS on
    }
    $source = sprintf('mysql:host=%s;port=%d;dbname=%s;charset=utf8mb4', setting('CLIENT_HOST'),
        setting('CLIENT_PORT'), setting('CLIENT_DATABASE'));
    return new PDO($source, setting('CLIENT_USER'), $password ?? setting('CLIENT_PASSWORD'), $options);
}

function rows(PDO $pdo, string $query, array $values): array
{
    $statement = $pdo->prepare($query);
    $statement->execute($values);
    return $statement->fetchAll(PDO::FETCH_NUM);
}

$pdo = connect();
administer($pdo, connect(...), rows(...), $pdo->exec(...), fn(PDOException $error) => $error->errorInfo[1]);
