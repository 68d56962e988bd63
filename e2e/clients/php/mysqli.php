<?php
// The scenario through PHP's mysqli on mysqlnd. Prints the transcript to stdout.

declare(strict_types=1);

require __DIR__ . '/transcript.php';

ini_set('memory_limit', '512M');
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

// --- the transcript ----------------------------------------------------------------------------

function described(mysqli_sql_exception $error): string
{
    return $error->getCode() . ' ' . $error->getSqlState() . ' ' . $error->getMessage();
}

function say_rows(mysqli_result $result): void
{
    say('columns', ...array_map(
        fn($field) => "$field->db.$field->orgtable.$field->name#$field->type/$field->flags/$field->charsetnr/$field->length",
        $result->fetch_fields()
    ));
    foreach ($result as $row) {
        say('row', ...array_values($row));
    }
    $result->free();
}

/** Prints every result of a query; an error, at once or in the middle, is part of it. */
function show(mysqli $mysqli, string $query): void
{
    try {
        $mysqli->multi_query($query);
        do {
            $result = $mysqli->store_result();
            if ($result !== false) {
                say_rows($result);
            } else {
                say('affected, last id, warnings, info', $mysqli->affected_rows, $mysqli->insert_id,
                    $mysqli->warning_count, $mysqli->info);
            }
        } while ($mysqli->more_results() && $mysqli->next_result());
    } catch (mysqli_sql_exception $error) {
        say('error', described($error));
    }
}

function say_statement(mysqli_stmt $statement): void
{
    do {
        $result = $statement->get_result();
        if ($result !== false) {
            say_rows($result);
        } else {
            say('affected, last id', $statement->affected_rows, $statement->insert_id);
        }
    } while ($statement->more_results() && $statement->next_result());
}

// --- connecting --------------------------------------------------------------------------------

function connect(?string $password = null, ?string $database = null): mysqli
{
    $mysqli = mysqli_init();
    $mysqli->options(MYSQLI_OPT_LOCAL_INFILE, true);
    $mysqli->options(MYSQLI_OPT_INT_AND_FLOAT_NATIVE, true);
    $flags = 0;
    if (is_on('CLIENT_TLS')) {
        $mysqli->ssl_set(null, null, null, null, null);
        $flags |= MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT;
    }
    if (is_on('CLIENT_COMPRESS')) {
        $flags |= MYSQLI_CLIENT_COMPRESS;
    }
    $mysqli->real_connect(setting('CLIENT_HOST'), setting('CLIENT_USER'),
        $password ?? setting('CLIENT_PASSWORD'), $database ?? setting('CLIENT_DATABASE'),
        (int) setting('CLIENT_PORT'), null, $flags);
    $mysqli->set_charset('utf8mb4');
    return $mysqli;
}

function value(mysqli $mysqli, string $query): mixed
{
    return $mysqli->query($query)->fetch_row()[0];
}

function prepare_schema(mysqli $mysqli): void
{
    $schema = setting('CLIENT_SCHEMA');
    $mysqli->query("DROP DATABASE IF EXISTS $schema");
    $mysqli->query("CREATE DATABASE $schema DEFAULT CHARACTER SET utf8mb4");
    $mysqli->select_db($schema);
    foreach (schema_statements() as $statement) {
        $mysqli->query($statement);
    }
}

// --- the steps ---------------------------------------------------------------------------------

function login(mysqli $mysqli): void
{
    section('login');
    say('server', $mysqli->server_info, $mysqli->server_version, $mysqli->protocol_version);
    say('character set', $mysqli->character_set_name());
    say('thread id agrees', $mysqli->thread_id === (int) value($mysqli, 'SELECT CONNECTION_ID()'));
    say('user', value($mysqli, 'SELECT CURRENT_USER()'));
    say('database', value($mysqli, 'SELECT DATABASE()'));
    show($mysqli, "SELECT attr_name, IF(attr_name IN ('_pid', '_thread', '_server_host'), '', attr_value)"
        . ' FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID()'
        . ' ORDER BY attr_name');
    // MySQL forgets which passwords it has seen: the next login takes the long way.
    $mysqli->query('FLUSH PRIVILEGES');
    foreach (['forgotten', 'remembered'] as $times) {
        $again = connect();
        say("login while $times", value($again, 'SELECT CURRENT_USER()'));
        $again->close();
    }
    say_error('wrong password', fn() => connect(password: 'not it'), described(...));
    say_error('no password', fn() => connect(password: ''), described(...));
    say_error('unknown database', fn() => connect(database: 'no_such_database'), described(...));
}

function query(mysqli $mysqli): void
{
    section('query');
    show($mysqli, "SELECT 1 AS one, 'two' AS two, NULL AS three");
    show($mysqli, 'SELECT d FROM digits WHERE d > 100');
    show($mysqli, 'DO 1');
    show($mysqli, "SELECT '' AS blank, '🐟' AS fish");
    show($mysqli, 'SELECT @@character_set_client, @@character_set_results, @@collation_connection');
}

function types(mysqli $mysqli): void
{
    section('types');
    show($mysqli, 'SELECT * FROM everything ORDER BY id');
    $statement = $mysqli->prepare('SELECT * FROM everything WHERE id > ? ORDER BY id');
    $statement->execute([0]);
    say_statement($statement);
}

function parameters(mysqli $mysqli): void
{
    section('parameters');
    $statement = $mysqli->prepare('SELECT ? AS a, ? AS b, ? AS c');
    foreach ([['iss', 1, 'two', null], ['sds', '1', 2.5, "\0\\"], ['ssi', null, "🐟 it's", PHP_INT_MIN]] as $set) {
        [$kinds, $a, $b, $c] = $set;
        $statement->bind_param($kinds, $a, $b, $c);
        $statement->execute();
        say_statement($statement);
    }
    $statement->close();
    $by_key = $mysqli->prepare('SELECT huge, words FROM everything WHERE id = ?');
    foreach ([1, '2', null] as $key) {
        $by_key->execute([$key]);
        $by_key->bind_result($huge, $words);
        while ($by_key->fetch()) {
            say('bound', $huge, $words);
        }
    }
    $by_key->execute([1]); // executed, its rows never fetched
    $by_key->reset();
    $by_key->execute([2]);
    say_statement($by_key);
    say_error('cannot be prepared', fn() => $mysqli->prepare('SELECT * FROM no_such_table WHERE id = ?'), described(...));
}

function cursor(mysqli $mysqli): void
{
    section('cursor');
    $statement = $mysqli->prepare('SELECT n, word, seventh FROM numbers WHERE n < ? ORDER BY n');
    $statement->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
    $limit = 100;
    $statement->bind_param('i', $limit);
    $statement->execute();
    say('in between', value($mysqli, "SELECT 'another query while the cursor is open'"));
    $statement->bind_result($n, $word, $seventh);
    while ($statement->fetch()) {
        say('row', $n, $word, $seventh);
    }
    $statement->close();
}

function writes(mysqli $mysqli): void
{
    section('writes');
    show($mysqli, "INSERT INTO ledger (name, amount) VALUES ('ann', 1)");
    show($mysqli, "INSERT INTO ledger (name, amount) VALUES ('bob', 2), ('cid', 3), ('dee', 4)");
    show($mysqli, 'UPDATE ledger SET amount = amount + 1 WHERE amount > 1');
    show($mysqli, 'UPDATE ledger SET amount = amount WHERE amount > 1');
    show($mysqli, "INSERT INTO ledger (name, amount) VALUES ('ann', 9) ON DUPLICATE KEY UPDATE amount = 9");
    show($mysqli, "DELETE FROM ledger WHERE name = 'dee'");
    $statement = $mysqli->prepare('INSERT INTO ledger (name, amount) VALUES (?, ?)');
    for ($i = 0; $i < 100; $i++) {
        $statement->execute(["many $i", $i]);
    }
    say_statement($statement);
    show($mysqli, 'SELECT COUNT(*), SUM(amount) FROM ledger');
}

function transactions(mysqli $mysqli): void
{
    section('transactions');
    foreach (['rollback' => 'rolled back', 'commit' => 'committed'] as $end => $name) {
        $mysqli->begin_transaction();
        $mysqli->query("INSERT INTO ledger (name, amount) VALUES ('$name', 100)");
        $mysqli->$end();
    }
    $mysqli->autocommit(false);
    $mysqli->query("INSERT INTO ledger (name, amount) VALUES ('implicit', 100)");
    $mysqli->rollback();
    $mysqli->autocommit(true);
    show($mysqli, 'SELECT name FROM ledger WHERE amount = 100');
    $mysqli->begin_transaction(MYSQLI_TRANS_START_READ_ONLY);
    show($mysqli, 'DELETE FROM ledger');
    $mysqli->commit();
}

function errors(mysqli $mysqli): void
{
    section('errors');
    show($mysqli, "INSERT INTO ledger (name, amount) VALUES ('ann', 1)");
    show($mysqli, 'SELEC 1');
    show($mysqli, 'SELECT * FROM no_such_table');
    show($mysqli, 'SELECT nothing FROM ledger');
    show($mysqli, ' ');
    show($mysqli, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Grüße 🐟', MYSQL_ERRNO = 30001");
    $statement = $mysqli->prepare('INSERT INTO ledger (name, amount) VALUES (?, ?)');
    say_error('duplicate key', fn() => $statement->execute(['ann', 1]), described(...));
    say('alive afterwards', value($mysqli, 'SELECT 42'));
}

function warnings(mysqli $mysqli): void
{
    section('warnings');
    $mysqli->query("SELECT CAST('12abc' AS SIGNED), 1 / 0");
    say('count', $mysqli->warning_count);
    for ($warning = $mysqli->get_warnings(), $more = $warning !== false; $more; $more = $warning->next()) {
        say('warning', $warning->errno, $warning->sqlstate, $warning->message);
    }
    show($mysqli, 'DROP TABLE IF EXISTS never_there');
}

function many_statements(mysqli $mysqli): void
{
    section('many statements');
    show($mysqli, "SELECT 1 AS a; INSERT INTO ledger (name, amount) VALUES ('multi', 1); DO 0;"
        . " SELECT 2 AS b UNION SELECT 3; UPDATE ledger SET amount = 2 WHERE name = 'multi'");
    show($mysqli, 'SELECT 1 AS a; SELECT * FROM no_such_table; SELECT 2 AS b');
    say_error('only one', fn() => $mysqli->query('SELECT 1; SELECT 2'), described(...));
    say('alive afterwards', value($mysqli, 'SELECT 42'));
}

function procedures(mysqli $mysqli): void
{
    section('procedures');
    $mysqli->query("SET @title = 'four'");
    show($mysqli, 'CALL describe_number(4, @title, @doubled)');
    show($mysqli, 'SELECT @title, @doubled');
    $statement = $mysqli->prepare('CALL describe_number(?, @title, @doubled)');
    $statement->execute([3]);
    say_statement($statement);
    $statement->close();
    show($mysqli, 'CALL refuse()');
    say('alive afterwards', value($mysqli, 'SELECT 42'));
}

function big_result(mysqli $mysqli): void
{
    section('big result');
    $hash = hash_init('sha256');
    $count = 0;
    foreach ($mysqli->query('SELECT n, word, seventh FROM numbers ORDER BY n', MYSQLI_USE_RESULT) as $row) {
        hash_update($hash, implode('|', array_map(shown(...), array_values($row))) . "\n");
        $count++;
    }
    say('rows', $count, hash_final($hash));
}

function big_packets(mysqli $mysqli): void
{
    section('big packets');
    $body = big_parameter();
    say('sent', hash('sha256', $body));
    $statement = $mysqli->prepare('INSERT INTO archive VALUES (?, ?)');
    $statement->execute([1, $body]);
    [$id, $nothing] = [2, null];
    $statement->bind_param('ib', $id, $nothing);
    foreach (str_split($body, 1024 * 1024) as $piece) {
        $statement->send_long_data(1, $piece);
    }
    $statement->execute();
    foreach ([1, 2] as $id) {
        say('stored', value($mysqli, "SELECT SHA2(body, 256) FROM archive WHERE id = $id"));
        $read = value($mysqli, "SELECT body FROM archive WHERE id = $id");
        say('read', strlen($read), hash('sha256', $read));
    }
    // A row of length-prefixed text is 4 bytes more than the text: these straddle 2^24 - 1.
    for ($length = 16777210; $length < 16777214; $length++) {
        say('row around 16 MiB', hash('sha256', value($mysqli, "SELECT REPEAT('x', $length)")));
    }
    foreach (queries_around_16_mib() as $query) {
        say('query around 16 MiB', value($mysqli, $query));
    }
}

function local_infile(mysqli $mysqli): void
{
    section('local infile');
    show($mysqli, "LOAD DATA LOCAL INFILE '" . setting('CLIENT_LOAD_FILE') . "' INTO TABLE loaded");
    show($mysqli, 'SELECT COUNT(*), SUM(id), SUM(CRC32(name)) FROM loaded');
    say_error('missing file',
        fn() => @$mysqli->query("LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE loaded"), described(...));
    say('alive afterwards', value($mysqli, 'SELECT 42'));
}

function session_commands(mysqli $mysqli): void
{
    section('session');
    say('statistics', str_starts_with($mysqli->stat(), 'Uptime'));
    $mysqli->query("SET @kept = 'yes'");
    $mysqli->select_db(setting('CLIENT_DATABASE'));
    say('kept, database', value($mysqli, 'SELECT @kept'), value($mysqli, 'SELECT DATABASE()'));
    say_error('no database', fn() => $mysqli->select_db('no_such_database'), described(...));
    $mysqli->change_user(setting('CLIENT_USER'), setting('CLIENT_PASSWORD'), setting('CLIENT_SCHEMA'));
    say('after the change of user', value($mysqli, 'SELECT @kept'), value($mysqli, 'SELECT DATABASE()'),
        value($mysqli, 'SELECT @@character_set_client'));
    $other = connect();
    say_error('change of user refused',
        fn() => $other->change_user(setting('CLIENT_USER'), 'not it', null), described(...));
    $this_one = $mysqli->thread_id;
    // Sent without waiting for the answer, which is fetched later.
    $mysqli->query('SELECT SLEEP(0.05) AS late', MYSQLI_ASYNC);
    [$read, $failed, $refused] = [[$mysqli], [], []];
    mysqli_poll($read, $failed, $refused, 5);
    say_rows($mysqli->reap_async_query());
    say('same thread', $this_one === $mysqli->thread_id);
}

/** Waits until the other connection's thread has ended on the server. */
function is_gone(mysqli $mysqli, int $thread): bool
{
    for ($round = 0; $round < 250; $round++) {
        if ((int) value($mysqli, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = $thread") === 0) {
            return true;
        }
        usleep(20000);
    }
    return false;
}

function close_all(mysqli $mysqli): void
{
    section('close');
    $other = connect();
    $thread = $other->thread_id;
    $other->close();
    say('gone from the server', is_gone($mysqli, $thread));
    $victim = connect();
    $mysqli->query("KILL $victim->thread_id");
    try {
        @$victim->query('SELECT 1');
        fail('a killed connection went on');
    } catch (mysqli_sql_exception) { // which error depends on who is first to notice
        say('killed', true);
    }
    $mysqli->query('DROP DATABASE ' . setting('CLIENT_SCHEMA'));
    $mysqli->close();
}

$mysqli = connect();
prepare_schema($mysqli);
foreach ([
    'login', 'query', 'types', 'parameters', 'cursor', 'writes', 'transactions', 'errors', 'warnings',
    'many_statements', 'procedures', 'big_result', 'big_packets', 'local_infile', 'session_commands', 'close_all',
] as $step) {
    $step($mysqli);
}
