<?php
// The scenario through PHP's PDO on mysqlnd, with statements prepared on the server.
// Prints the transcript to stdout.

declare(strict_types=1);

require __DIR__ . '/transcript.php';

ini_set('memory_limit', '512M');

// --- the transcript ----------------------------------------------------------------------------

function described(PDOException $error): string
{
    return implode(' ', $error->errorInfo ?? [$error->getMessage()]);
}

/** Prints every result of an executed statement; an error in the middle is part of it. */
function say_results(PDOStatement $statement): void
{
    try {
        do {
            if ($statement->columnCount() > 0) {
                say_rows($statement);
            } else {
                say('affected', $statement->rowCount());
            }
        } while ($statement->nextRowset());
    } catch (PDOException $error) {
        say('error', described($error));
    }
    $statement->closeCursor();
}

function say_rows(PDOStatement $statement): void
{
    $columns = [];
    for ($i = 0; $i < $statement->columnCount(); $i++) {
        $meta = $statement->getColumnMeta($i);
        $columns[] = "{$meta['table']}.{$meta['name']}#" . ($meta['native_type'] ?? '-')
            . '/' . implode(',', $meta['flags']) . "/{$meta['len']}/{$meta['precision']}";
    }
    say('columns', ...$columns);
    foreach ($statement->fetchAll(PDO::FETCH_NUM) as $row) {
        say('row', ...$row);
    }
}

function show(PDO $pdo, string $query): void
{
    try {
        $statement = $pdo->query($query);
    } catch (PDOException $error) {
        say('error', described($error));
        return;
    }
    say_results($statement);
}

function show_prepared(PDO $pdo, string $query, array $parameters = []): void
{
    $statement = $pdo->prepare($query);
    $statement->execute($parameters);
    say_results($statement);
}

// --- connecting --------------------------------------------------------------------------------

function connect(?string $password = null, ?string $database = null, array $changes = []): PDO
{
    $options = $changes + [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => false,
        PDO::MYSQL_ATTR_LOCAL_INFILE => true,
        PDO::MYSQL_ATTR_COMPRESS => is_on('CLIENT_COMPRESS'),
    ];
    if (is_on('CLIENT_TLS')) {
        $options[PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT] = false;
        $options[PDO::MYSQL_ATTR_SSL_CA] = '/dev/null'; // a value switches TLS on
    }
    $source = sprintf('mysql:host=%s;port=%d;dbname=%s;charset=utf8mb4', setting('CLIENT_HOST'),
        setting('CLIENT_PORT'), $database ?? setting('CLIENT_DATABASE'));
    return new PDO($source, setting('CLIENT_USER'), $password ?? setting('CLIENT_PASSWORD'), $options);
}

function value(PDO $pdo, string $query, array $parameters = []): mixed
{
    $statement = $pdo->prepare($query);
    $statement->execute($parameters);
    $value = $statement->fetchColumn();
    $statement->closeCursor();
    return $value;
}

function prepare_schema(PDO $pdo): void
{
    $schema = setting('CLIENT_SCHEMA');
    $pdo->exec("DROP DATABASE IF EXISTS $schema");
    $pdo->exec("CREATE DATABASE $schema DEFAULT CHARACTER SET utf8mb4");
    $pdo->exec("USE $schema");
    foreach (schema_statements() as $statement) {
        $pdo->exec($statement);
    }
}

// --- the steps ---------------------------------------------------------------------------------

function login(PDO $pdo): void
{
    section('login');
    say('server', $pdo->getAttribute(PDO::ATTR_SERVER_VERSION));
    say('status', $pdo->getAttribute(PDO::ATTR_CONNECTION_STATUS));
    say('user', value($pdo, 'SELECT CURRENT_USER()'));
    say('database', value($pdo, 'SELECT DATABASE()'));
    // MySQL forgets which passwords it has seen: the next login takes the long way.
    $pdo->exec('FLUSH PRIVILEGES');
    foreach (['forgotten', 'remembered'] as $times) {
        say("login while $times", value(connect(), 'SELECT CURRENT_USER()'));
    }
    say_error('wrong password', fn() => connect(password: 'not it'), described(...));
    say_error('no password', fn() => connect(password: ''), described(...));
    say_error('unknown database', fn() => connect(database: 'no_such_database'), described(...));
}

function query(PDO $pdo): void
{
    section('query');
    show($pdo, "SELECT 1 AS one, 'two' AS two, NULL AS three");
    show($pdo, 'SELECT d FROM digits WHERE d > 100');
    show($pdo, 'DO 1');
    show($pdo, "SELECT '' AS blank, '🐟' AS fish");
    show($pdo, 'SELECT @@character_set_client, @@character_set_results, @@collation_connection');
}

function types(PDO $pdo): void
{
    section('types');
    show($pdo, 'SELECT * FROM everything ORDER BY id');
    show_prepared($pdo, 'SELECT * FROM everything WHERE id > ? ORDER BY id', [0]);
}

function parameters(PDO $pdo): void
{
    section('parameters');
    $statement = $pdo->prepare('SELECT :a AS a, :b AS b, :c AS c');
    foreach ([[1, 'two', null], ['1', 2.5, "\0\\"], [null, "🐟 it's", PHP_INT_MIN]] as $set) {
        foreach (['a', 'b', 'c'] as $i => $name) {
            $kind = match (true) {
                $set[$i] === null => PDO::PARAM_NULL,
                is_int($set[$i]) => PDO::PARAM_INT,
                default => PDO::PARAM_STR,
            };
            $statement->bindValue($name, $set[$i], $kind);
        }
        $statement->execute();
        say_results($statement);
    }
    foreach ([1, '2', null] as $key) {
        show_prepared($pdo, 'SELECT huge, words FROM everything WHERE id = ?', [$key]);
    }
    say_error('cannot be prepared', fn() => $pdo->prepare('SELECT * FROM no_such_table WHERE id = ?'), described(...));
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
    show_prepared($pdo, 'SELECT :a AS a, HEX(:b) AS b', ['a' => "🐟 it's", 'b' => "\0\xff'\"\\"]);
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
}

function writes(PDO $pdo): void
{
    section('writes');
    $insert = $pdo->prepare('INSERT INTO ledger (name, amount) VALUES (?, ?)');
    $insert->execute(['ann', 1]);
    say('affected, last id', $insert->rowCount(), $pdo->lastInsertId());
    foreach ([
        "INSERT INTO ledger (name, amount) VALUES ('bob', 2), ('cid', 3), ('dee', 4)",
        'UPDATE ledger SET amount = amount + 1 WHERE amount > 1',
        'UPDATE ledger SET amount = amount WHERE amount > 1',
        "INSERT INTO ledger (name, amount) VALUES ('ann', 9) ON DUPLICATE KEY UPDATE amount = 9",
        "DELETE FROM ledger WHERE name = 'dee'",
    ] as $query) {
        say('affected, last id', $pdo->exec($query), $pdo->lastInsertId());
    }
    for ($i = 0; $i < 100; $i++) {
        $insert->execute(["many $i", $i]);
    }
    show($pdo, 'SELECT COUNT(*), SUM(amount) FROM ledger');
}

function transactions(PDO $pdo): void
{
    section('transactions');
    foreach (['rollBack' => 'rolled back', 'commit' => 'committed'] as $end => $name) {
        $pdo->beginTransaction();
        $pdo->exec("INSERT INTO ledger (name, amount) VALUES ('$name', 100)");
        say('in a transaction', $pdo->inTransaction());
        $pdo->$end();
        say('in a transaction', $pdo->inTransaction());
    }
    show($pdo, 'SELECT name FROM ledger WHERE amount = 100');
    $pdo->exec('START TRANSACTION READ ONLY');
    say('in a transaction', $pdo->inTransaction());
    show($pdo, 'DELETE FROM ledger');
    $pdo->exec('COMMIT');
}

function errors(PDO $pdo): void
{
    section('errors');
    show($pdo, "INSERT INTO ledger (name, amount) VALUES ('ann', 1)");
    show($pdo, 'SELEC 1');
    show($pdo, 'SELECT * FROM no_such_table');
    show($pdo, 'SELECT nothing FROM ledger');
    show($pdo, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Grüße 🐟', MYSQL_ERRNO = 30001");
    say_error('duplicate key', fn() => show_prepared($pdo, "INSERT INTO ledger (name, amount) VALUES ('ann', ?)", [1]), described(...));
    say('alive afterwards', value($pdo, 'SELECT 42'));
}

function warnings(PDO $pdo): void
{
    section('warnings');
    $statement = $pdo->query("SELECT CAST('12abc' AS SIGNED), 1 / 0");
    say_rows($statement);
    $statement->closeCursor();
    show($pdo, 'SHOW WARNINGS');
}

function many_statements(PDO $pdo): void
{
    section('many statements');
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
    show($pdo, "SELECT 1 AS a; INSERT INTO ledger (name, amount) VALUES ('multi', 1); DO 0;"
        . " SELECT 2 AS b UNION SELECT 3; UPDATE ledger SET amount = 2 WHERE name = 'multi'");
    show($pdo, 'SELECT 1 AS a; SELECT * FROM no_such_table; SELECT 2 AS b');
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
    say('alive afterwards', value($pdo, 'SELECT 42'));
}

function procedures(PDO $pdo): void
{
    section('procedures');
    $pdo->exec("SET @title = 'four'");
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, true); // prepared, PDO loses the last result
    show_prepared($pdo, 'CALL describe_number(?, @title, @doubled)', [4]);
    show($pdo, 'SELECT @title, @doubled');
    show($pdo, 'CALL refuse()');
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
    say('alive afterwards', value($pdo, 'SELECT 42'));
}

function big_result(PDO $pdo): void
{
    section('big result');
    $streaming = connect(database: setting('CLIENT_SCHEMA'), changes: [PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
    foreach (['text' => true, 'binary' => false] as $way => $is_emulated) {
        $streaming->setAttribute(PDO::ATTR_EMULATE_PREPARES, $is_emulated);
        $statement = $streaming->prepare('SELECT n, word, seventh FROM numbers WHERE n < :n ORDER BY n');
        $statement->bindValue('n', 200000, PDO::PARAM_INT);
        $statement->execute();
        $hash = hash_init('sha256');
        $count = 0;
        while ($row = $statement->fetch(PDO::FETCH_NUM)) {
            hash_update($hash, implode('|', array_map(shown(...), $row)) . "\n");
            $count++;
        }
        say($way, $count, hash_final($hash));
        $statement = null;
    }
}

function big_packets(PDO $pdo): void
{
    section('big packets');
    $body = big_parameter();
    say('sent', hash('sha256', $body));
    $insert = $pdo->prepare('INSERT INTO archive VALUES (?, ?)');
    $insert->bindValue(1, 1, PDO::PARAM_INT);
    $insert->bindValue(2, $body, PDO::PARAM_LOB);
    $insert->execute();
    say('stored', value($pdo, 'SELECT SHA2(body, 256) FROM archive WHERE id = ?', [1]));
    $read = value($pdo, 'SELECT body FROM archive WHERE id = ?', [1]);
    say('read', strlen($read), hash('sha256', $read));
    // A row of length-prefixed text is 4 bytes more than the text: these straddle 2^24 - 1.
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
    for ($length = 16777210; $length < 16777214; $length++) {
        say('row around 16 MiB', hash('sha256', value($pdo, "SELECT REPEAT('x', $length)")));
    }
    foreach (queries_around_16_mib() as $query) {
        say('query around 16 MiB', value($pdo, $query));
    }
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
}

function local_infile(PDO $pdo): void
{
    section('local infile');
    say('loaded', $pdo->exec("LOAD DATA LOCAL INFILE '" . setting('CLIENT_LOAD_FILE') . "' INTO TABLE loaded"));
    show($pdo, 'SELECT COUNT(*), SUM(id), SUM(CRC32(name)) FROM loaded');
    say_error('missing file',
        fn() => @$pdo->exec("LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE loaded"), described(...));
    say('alive afterwards', value($pdo, 'SELECT 42'));
}

/** PDO has no command of its own here: a persistent connection is pinged when taken again. */
function session_commands(PDO $pdo): void
{
    section('session');
    say('statistics', str_starts_with($pdo->getAttribute(PDO::ATTR_SERVER_INFO), 'Uptime'));
    $thread = null;
    foreach (['first', 'second'] as $time) {
        $persistent = connect(changes: [PDO::ATTR_PERSISTENT => true]);
        say($time, $thread === value($persistent, 'SELECT CONNECTION_ID()'));
        $thread = value($persistent, 'SELECT CONNECTION_ID()');
        $persistent = null;
    }
    $pdo->exec('USE ' . setting('CLIENT_DATABASE'));
    say('database', value($pdo, 'SELECT DATABASE()'));
    say_error('no database', fn() => $pdo->exec('USE no_such_database'), described(...));
}

/** Waits until the other connection's thread has ended on the server. */
function is_gone(PDO $pdo, int $thread): bool
{
    for ($round = 0; $round < 250; $round++) {
        if (value($pdo, 'SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?', [$thread]) === 0) {
            return true;
        }
        usleep(20000);
    }
    return false;
}

function close_all(PDO $pdo): void
{
    section('close');
    $other = connect();
    $thread = (int) value($other, 'SELECT CONNECTION_ID()');
    $other = null;
    say('gone from the server', is_gone($pdo, $thread));
    $victim = connect();
    $pdo->exec('KILL ' . value($victim, 'SELECT CONNECTION_ID()'));
    try {
        @$victim->query('SELECT 1');
        fail('a killed connection went on');
    } catch (PDOException) { // which error depends on who is first to notice
        say('killed', true);
    }
    $pdo->exec('DROP DATABASE ' . setting('CLIENT_SCHEMA'));
}

$pdo = connect();
prepare_schema($pdo);
foreach ([
    'login', 'query', 'types', 'parameters', 'writes', 'transactions', 'errors', 'warnings', 'many_statements',
    'procedures', 'big_result', 'big_packets', 'local_infile', 'session_commands', 'close_all',
] as $step) {
    $step($pdo);
}
