// The scenario through Node's mysql2: `query` goes by the text protocol, `execute` prepares on the
// server and goes by the binary one. Prints the transcript to stdout.

import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { createConnection } from 'mysql2';
import { createConnection as createPromised } from 'mysql2/promise';

const { CLIENT_DATABASE, CLIENT_SCHEMA, CLIENT_LOAD_FILE, CLIENT_SCENARIO } = process.env;

// --- the transcript --------------------------------------------------------------------------

const lines = [];

function section(name) {
  lines.push(`[${name}]`);
}

function say(label, ...values) {
  lines.push(`${label}: ${values.map(shown).join(' | ')}`);
}

function shown(value) {
  if (value === null || value === undefined) return 'NULL';
  if (Buffer.isBuffer(value)) return `0x${value.toString('hex')}`;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'object') return inspect(value, { breakLength: Infinity });
  return String(value);
}

function shownError(error) {
  return error.errno === undefined || error.syscall !== undefined
    ? `${error.code ?? ''} ${error.message}`
    : `${error.errno} ${error.sqlState ?? '-'} ${error.message}`;
}

async function sayError(label, action) {
  try {
    await action();
  } catch (error) {
    say(label, shownError(error));
    return;
  }
  throw new Error(`${label}: an error was expected`);
}

function sayResult(rows, fields) {
  if (!Array.isArray(rows)) {
    const { affectedRows, insertId, changedRows, warningStatus, serverStatus, info } = rows;
    say('ok', affectedRows, insertId, changedRows, warningStatus, serverStatus, info);
    return;
  }
  say('columns', ...fields.map((field) =>
    `${field.table}.${field.name}#${field.columnType}/${field.flags}/${field.characterSet}`));
  for (const row of rows) say('row', ...row);
}

/** Prints the one or many results that mysql2 returned as [results, fields]. */
function sayResults([results, fields]) {
  const many = Array.isArray(fields) && fields.some((each) => each === undefined || Array.isArray(each));
  if (!many) return sayResult(results, fields);
  results.forEach((result, index) => sayResult(result, fields[index]));
}

// --- connecting ------------------------------------------------------------------------------

const options = {
  host: process.env.CLIENT_HOST,
  port: Number(process.env.CLIENT_PORT),
  user: process.env.CLIENT_USER,
  password: process.env.CLIENT_PASSWORD,
  database: CLIENT_DATABASE,
  charset: 'utf8mb4_general_ci',
  timezone: 'Z',
  ssl: process.env.CLIENT_TLS === '1' ? { rejectUnauthorized: false } : undefined,
  compress: process.env.CLIENT_COMPRESS === '1',
  multipleStatements: true,
  rowsAsArray: true,
  supportBigNumbers: true,
  connectAttributes: { program_name: 'scenario' },
  infileStreamFactory: (path) => createReadStream(path),
};

const connect = (changes = {}) => createPromised({ ...options, ...changes });

async function value(connection, text, parameters) {
  const [rows] = await connection.query(text, parameters);
  return rows[0][0];
}

/** Sends schema.sql, whose statements are parted by blank lines. */
async function prepareSchema(connection) {
  await connection.query(`DROP DATABASE IF EXISTS ${CLIENT_SCHEMA}`);
  await connection.query(`CREATE DATABASE ${CLIENT_SCHEMA} DEFAULT CHARACTER SET utf8mb4`);
  await connection.query(`USE ${CLIENT_SCHEMA}`);
  const content = readFileSync(join(CLIENT_SCENARIO, 'schema.sql'), 'utf8');
  for (const statement of content.trim().split('\n\n')) await connection.query(statement);
}

// --- the steps -------------------------------------------------------------------------------

async function login(connection) {
  section('login');
  say('server', await value(connection, 'SELECT VERSION()'));
  say('thread id agrees', connection.threadId === (await value(connection, 'SELECT CONNECTION_ID()')));
  say('user', await value(connection, 'SELECT CURRENT_USER()'));
  say('database', await value(connection, 'SELECT DATABASE()'));
  sayResults(await connection.query(
    "SELECT attr_name, IF(attr_name IN ('_pid', '_thread', '_server_host'), '', attr_value) FROM" +
    ' performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID() ORDER BY attr_name'));
  // MySQL forgets which passwords it has seen: the next login takes the long way.
  await connection.query('FLUSH PRIVILEGES');
  for (const times of ['forgotten', 'remembered']) {
    const again = await connect();
    say(`login while ${times}`, await value(again, 'SELECT CURRENT_USER()'));
    await again.end();
  }
  await sayError('wrong password', () => connect({ password: 'not it' }));
  await sayError('no password', () => connect({ password: '' }));
  await sayError('unknown database', () => connect({ database: 'no_such_database' }));
}

async function query(connection) {
  section('query');
  for (const text of [
    "SELECT 1 AS one, 'two' AS two, NULL AS three",
    'SELECT d FROM digits WHERE d > 100',
    'DO 1',
    "SELECT '' AS blank, '🐟' AS fish",
    'SELECT @@character_set_client, @@character_set_results, @@collation_connection',
  ]) sayResults(await connection.query(text));
}

async function types(connection) {
  section('types');
  sayResults(await connection.query('SELECT * FROM everything ORDER BY id'));
  sayResults(await connection.execute('SELECT * FROM everything ORDER BY id'));
}

async function parameters(connection) {
  section('parameters');
  const statement = await connection.prepare('SELECT ? AS a, ? AS b, ? AS c');
  for (const set of [
    [1, 'two', null],
    ['1', 2.5, '\0\\'],
    [null, "🐟 it's", new Date(Date.UTC(2024, 1, 29, 12, 30, 45, 123))],
    [true, { fish: [1] }, Buffer.from('binary')],
  ]) sayResults(await statement.execute(set));
  await statement.close();
  sayResults(await connection.execute('SELECT HEX(?)', [Buffer.from([0, 255, 39, 34, 92])]));
  for (const key of [1, '2', null])
    sayResults(await connection.execute('SELECT huge, words FROM everything WHERE id = ?', [key]));
  sayResults(await connection.query('SELECT ? AS text, ? AS number', ["it's \\ 🐟", 1.5]));
  await sayError('cannot be prepared', () => connection.prepare('SELECT * FROM no_such_table WHERE id = ?'));
}

async function writes(connection) {
  section('writes');
  const insert = 'INSERT INTO ledger (name, amount) VALUES (?, ?)';
  sayResults(await connection.execute(insert, ['ann', 1]));
  sayResults(await connection.query("INSERT INTO ledger (name, amount) VALUES ('bob', 2), ('cid', 3), ('dee', 4)"));
  sayResults(await connection.execute('UPDATE ledger SET amount = amount + ? WHERE amount > ?', [1, 1]));
  sayResults(await connection.query('UPDATE ledger SET amount = amount WHERE amount > 1'));
  sayResults(await connection.query(
    "INSERT INTO ledger (name, amount) VALUES ('ann', 9) ON DUPLICATE KEY UPDATE amount = 9"));
  sayResults(await connection.execute('DELETE FROM ledger WHERE name = ?', ['dee']));
  // Sent without waiting for one another: mysql2 queues them on the connection.
  await Promise.all(Array.from({ length: 100 }, (_, i) => connection.execute(insert, [`many ${i}`, i])));
  sayResults(await connection.query('SELECT COUNT(*), SUM(amount) FROM ledger'));
}

async function transactions(connection) {
  section('transactions');
  for (const name of ['rolled back', 'committed']) {
    await connection.beginTransaction();
    await connection.execute('INSERT INTO ledger (name, amount) VALUES (?, 100)', [name]);
    await (name === 'committed' ? connection.commit() : connection.rollback());
    say(name, await value(connection, 'SELECT COUNT(*) FROM ledger WHERE name = ?', [name]));
  }
  await connection.query('START TRANSACTION READ ONLY');
  await sayError('read only', () => connection.query('DELETE FROM ledger'));
  await connection.rollback();
}

async function errors(connection) {
  section('errors');
  for (const text of [
    "INSERT INTO ledger (name, amount) VALUES ('ann', 1)",
    'SELEC 1',
    'SELECT * FROM no_such_table',
    'SELECT nothing FROM ledger',
    '',
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Grüße 🐟', MYSQL_ERRNO = 30001",
  ]) await sayError('refused', () => connection.query(text));
  await sayError('duplicate key', () =>
    connection.execute('INSERT INTO ledger (name, amount) VALUES (?, ?)', ['ann', 1]));
  say('alive afterwards', await value(connection, 'SELECT 42'));
}

async function warnings(connection) {
  section('warnings');
  sayResults(await connection.query("SELECT CAST('12abc' AS SIGNED), 1 / 0"));
  sayResults(await connection.query('SHOW WARNINGS'));
  sayResults(await connection.query('DROP TABLE IF EXISTS never_there'));
}

async function manyStatements(connection) {
  section('many statements');
  sayResults(await connection.query(
    "SELECT 1 AS a; INSERT INTO ledger (name, amount) VALUES ('multi', 1); DO 0;" +
    " SELECT 2 AS b UNION SELECT 3; UPDATE ledger SET amount = 2 WHERE name = 'multi'"));
  await sayError('error in the middle', () =>
    connection.query('SELECT 1 AS a; SELECT * FROM no_such_table; SELECT 2 AS b'));
  say('alive afterwards', await value(connection, 'SELECT 42'));
}

async function procedures(connection) {
  section('procedures');
  await connection.query("SET @title = 'four'");
  sayResults(await connection.query('CALL describe_number(?, @title, @doubled)', [4]));
  sayResults(await connection.query('SELECT @title, @doubled'));
  sayResults(await connection.execute('CALL describe_number(?, @title, @doubled)', [3]));
  await sayError('refused', () => connection.query('CALL refuse()'));
  say('alive afterwards', await value(connection, 'SELECT 42'));
}

/** Streams the rows, with a pause every now and then: the reader sets the pace. */
async function bigResult() {
  section('big result');
  const connection = createConnection({ ...options, database: CLIENT_SCHEMA });
  const hash = createHash('sha256');
  let count = 0;
  for await (const row of connection.query('SELECT n, word, seventh FROM numbers ORDER BY n').stream()) {
    hash.update(`${row.map(shown).join('|')}\n`);
    if (++count % 50000 === 0) await pause(20);
  }
  say('rows', count);
  say('sha256', hash.digest('hex'));
  await new Promise((done) => { connection.end(done); });
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

async function bigPackets(connection) {
  section('big packets');
  const body = Buffer.alloc(20 * 1024 * 1024, Buffer.from(Array.from({ length: 251 }, (_, i) => i)));
  await connection.execute('INSERT INTO archive VALUES (?, ?)', [1, body]);
  say('sent', sha256(body));
  say('stored', await value(connection, 'SELECT SHA2(body, 256) FROM archive WHERE id = 1'));
  for (const way of ['query', 'execute']) {
    const [[[read]]] = await connection[way]('SELECT body FROM archive WHERE id = 1');
    say('read', read.length, sha256(read));
  }
  // A row of length-prefixed text is 4 bytes more than the text: these straddle 2^24 - 1.
  for (let length = 16777210; length < 16777214; length++) {
    const text = await value(connection, `SELECT REPEAT('x', ${length})`);
    say('row around 16 MiB', text.length, sha256(text));
  }
  // mysql2 cuts its own payloads wrongly within some bytes of 2^24 - 1: keep clear of that.
  for (const length of [16777000, 16778000]) {
    const [start, end] = ["SELECT LENGTH('", "')"];
    const text = start + 'x'.repeat(length - start.length - end.length) + end;
    say('query around 16 MiB', await value(connection, text));
  }
}

async function localInfile(connection) {
  section('local infile');
  sayResults(await connection.query(`LOAD DATA LOCAL INFILE '${CLIENT_LOAD_FILE}' INTO TABLE loaded`));
  sayResults(await connection.query('SELECT COUNT(*), SUM(id), SUM(CRC32(name)) FROM loaded'));
  await sayError('missing file', () =>
    connection.query("LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE loaded"));
  say('alive afterwards', await value(connection, 'SELECT 42'));
}

async function sessionCommands(connection) {
  section('session');
  await connection.ping();
  await connection.query("SET @kept = 'yes'");
  say('before', await value(connection, 'SELECT @kept'));
  await connection.changeUser({
    user: options.user, password: options.password, database: CLIENT_DATABASE, charset: 'utf8mb4_unicode_ci',
  });
  say('after the change of user', await value(connection, 'SELECT @kept'));
  say('database', await value(connection, 'SELECT DATABASE()'));
  say('collation', await value(connection, 'SELECT @@collation_connection'));
  await connection.reset();
  await sayError('no database', () => connection.query('USE no_such_database'));
  const other = await connect();
  await sayError('change of user refused', () =>
    other.changeUser({ user: options.user, password: 'not it', database: CLIENT_DATABASE }));
  other.destroy();
  await connection.query(`USE ${CLIENT_SCHEMA}`);
}

/** Waits until the other connection's thread has ended on the server. */
async function isGone(connection, thread) {
  for (let round = 0; round < 250; round++) {
    const left = 'SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?';
    if ((await value(connection, left, [thread])) === 0) return true;
    await pause(20);
  }
  return false;
}

async function closeAll(connection) {
  section('close');
  const other = await connect();
  const thread = other.threadId;
  await other.end();
  say('gone from the server', await isGone(connection, thread));
  const victim = await connect();
  const ended = new Promise((done) => { victim.on('error', done).on('end', done); });
  await connection.query('KILL ?', [victim.threadId]);
  await ended;
  say('killed', true);
  await connection.query(`DROP DATABASE ${CLIENT_SCHEMA}`);
  await connection.end();
}

const connection = await connect();
await prepareSchema(connection);
for (const step of [
  login, query, types, parameters, writes, transactions, errors, warnings, manyStatements, procedures,
  bigResult, bigPackets, localInfile, sessionCommands, closeAll,
]) {
  try {
    await step(connection);
  } catch (error) {
    console.error(error.stack.slice(0, 2000));
    process.exitCode = 1;
    break;
  }
}
console.log(lines.join('\n'));
process.exit();
