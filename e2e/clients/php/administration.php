<?php
// What both PHP programs do on the admin port; each says how: `$connect`, `$rows`, `$change`, `$code`.

declare(strict_types=1);

require __DIR__ . '/transcript.php';

/**
 * @param callable $rows    the rows of a statement prepared with these values
 * @param callable $change  runs a text: how many rows it has changed
 * @param callable $code    the number in an exception
 */
function administer(object $connection, callable $connect, callable $rows, callable $change, callable $code): void
{
    $value = fn(string $query) => $rows($connection, $query, [])[0][0];
    say('user', $value('SELECT USER()'));
    say('joined', ...$rows($connection,
        "SELECT b.weight, s.value FROM backends b JOIN settings s ON s.name = 'limits.sessions_max'", [])[0]);
    say('tables', ...array_column($rows($connection, "SHOW TABLES LIKE 'sess%'", []), 0));
    say('prepared', ...$rows($connection, 'SELECT ? AS number, ? AS word, name FROM settings WHERE name = ?',
        [7, "it's 🐟", 'limits.sessions_max'])[0]);
    $change('USE stats');
    say('schema', $value('SELECT DATABASE()'));
    $change('USE pilotfish');
    $setting = "SELECT value FROM settings WHERE name = 'limits.sessions_max'";
    $update = fn(int $to) => "UPDATE settings SET value = $to WHERE name = 'limits.sessions_max'";
    $affected = $change($update(888));
    say('changed', $affected, $value($setting));
    $connection instanceof PDO ? $connection->beginTransaction() : $connection->begin_transaction();
    $change($update(999));
    $connection->rollback();
    say('rolled back', $value($setting));
    $change('REVERT');
    say('reverted', $value($setting));
    say_error('unknown table', fn() => $rows($connection, 'SELECT * FROM nowhere', []), $code);
    say_error('syntax', fn() => $change('SELECT FROM'), $code);
    say_error('wrong password', fn() => $connect('not it'), $code);
    say('alive', $value('SELECT 42'));
}
