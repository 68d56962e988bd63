// The admin port through Node's mysql2: `execute` prepares there.

import { createConnection } from 'mysql2/promise';

const { env } = process;
const options = {
  host: env.CLIENT_HOST,
  port: Number(env.CLIENT_PORT),
  user: env.CLIENT_USER,
  password: env.CLIENT_PASSWORD,
  database: env.CLIENT_DATABASE,
  ssl: env.CLIENT_TLS === '1' ? { rejectUnauthorized: false } : undefined,
  rowsAsArray: true,
};

const say = (label, ...values) => console.log(`${label}: ${values.join(' | ')}`);

async function sayError(label, action) {
  try {
    await action();
  } catch (error) {
    say(label, error.errno);
    return;
  }
  throw new Error(`${label}: an error was expected`);
}

const connection = await createConnection(options);
const rows = async (text) => (await connection.query(text))[0];
const value = async (text) => (await rows(text))[0][0];

say('user', await value('SELECT USER()'));
const joined = "SELECT b.weight, s.value FROM backends b JOIN settings s ON s.name = 'limits.sessions_max'";
say('joined', ...(await rows(joined))[0]);
say('tables', ...(await rows("SHOW TABLES LIKE 'sess%'")).map((row) => row[0]));
const prepared = 'SELECT ? AS number, ? AS word, name FROM settings WHERE name = ?';
const [found] = await connection.execute(prepared, [7, "it's 🐟", 'limits.sessions_max']);
say('prepared', ...found[0]);
await connection.query('USE stats');
say('schema', await value('SELECT DATABASE()'));
await connection.query('USE pilotfish');
const setting = "SELECT value FROM settings WHERE name = 'limits.sessions_max'";
const change = 'UPDATE settings SET value = ? WHERE name = ?';
const [changed] = await connection.execute(change, [888, 'limits.sessions_max']);
say('changed', changed.affectedRows, await value(setting));
await connection.beginTransaction();
await connection.execute(change, [999, 'limits.sessions_max']);
await connection.rollback();
say('rolled back', await value(setting));
await connection.query('REVERT');
say('reverted', await value(setting));
await sayError('unknown table', () => connection.execute('SELECT * FROM nowhere'));
await sayError('syntax', () => connection.query('SELECT FROM'));
await sayError('wrong password', () => createConnection({ ...options, password: 'not it' }));
await connection.ping();
say('alive', await value('SELECT 42'));
await connection.end();
