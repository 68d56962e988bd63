// The scenario through Go's database/sql with go-sql-driver/mysql, on one connection of the pool.
// Statements with arguments are prepared on the server and use the binary protocol.
// Prints the transcript to stdout.
package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

var background = context.Background()

// --- the transcript ----------------------------------------------------------------------------

func section(name string) { fmt.Printf("[%s]\n", name) }

func say(label string, values ...any) {
	parts := make([]string, len(values))
	for i, value := range values {
		parts[i] = shown(value)
	}
	fmt.Printf("%s: %s\n", label, strings.Join(parts, " | "))
}

func shown(value any) string {
	switch value := value.(type) {
	case nil:
		return "NULL"
	case []byte:
		return fmt.Sprintf("%q", value)
	case time.Time:
		return value.Format("2006-01-02 15:04:05.000000")
	default:
		return fmt.Sprintf("%v", value)
	}
}

func shownError(err error) string {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		return fmt.Sprintf("%d %s %s", refused.Number, refused.SQLState, refused.Message)
	}
	return err.Error()
}

func sayError(label string, err error) {
	if err == nil {
		log.Fatalf("%s: an error was expected", label)
	}
	say(label, shownError(err))
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

// sayResults prints every result, columns and rows; an error in the middle is part of it.
func sayResults(rows *sql.Rows, err error) {
	if err != nil {
		say("error", shownError(err))
		return
	}
	defer rows.Close()
	for {
		sayRows(rows)
		if !rows.NextResultSet() {
			break
		}
	}
	if rows.Err() != nil {
		say("error", shownError(rows.Err()))
	}
}

func sayRows(rows *sql.Rows) {
	columns, err := rows.ColumnTypes()
	check(err)
	names := make([]any, len(columns))
	for i, column := range columns {
		names[i] = column.Name() + "#" + column.DatabaseTypeName()
	}
	say("columns", names...)
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		check(rows.Scan(places...))
		say("row", values...)
	}
}

// --- connecting --------------------------------------------------------------------------------

func setting(name string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		log.Fatalf("%s is not set", name)
	}
	return value
}

func connect(change func(*mysql.Config)) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User, config.Passwd = setting("CLIENT_USER"), setting("CLIENT_PASSWORD")
	config.Net, config.Addr = "tcp", setting("CLIENT_HOST")+":"+setting("CLIENT_PORT")
	config.DBName = setting("CLIENT_DATABASE")
	config.Collation = "utf8mb4_general_ci"
	config.MultiStatements, config.ParseTime = true, true
	config.MaxAllowedPacket = 64 << 20
	config.ConnectionAttributes = "program_name:scenario"
	config.TLSConfig = map[string]string{"0": "false", "1": "skip-verify"}[setting("CLIENT_TLS")]
	config.Logger = &mysql.NopLogger{}
	check(config.Apply(mysql.EnableCompression(setting("CLIENT_COMPRESS") == "1")))
	if change != nil {
		change(config)
	}
	connector, err := mysql.NewConnector(config)
	check(err)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, db.Ping()
}

func mustConnect() *sql.DB {
	db, err := connect(nil)
	check(err)
	return db
}

func run(db *sql.DB, query string, arguments ...any) sql.Result {
	result, err := db.Exec(query, arguments...)
	check(err)
	return result
}

func value(db *sql.DB, query string, arguments ...any) string {
	var value sql.NullString
	check(db.QueryRow(query, arguments...).Scan(&value))
	if !value.Valid {
		return "NULL"
	}
	return value.String
}

// prepareSchema sends schema.sql, whose statements are parted by blank lines.
func prepareSchema(db *sql.DB) {
	run(db, "DROP DATABASE IF EXISTS "+setting("CLIENT_SCHEMA"))
	run(db, "CREATE DATABASE "+setting("CLIENT_SCHEMA")+" DEFAULT CHARACTER SET utf8mb4")
	run(db, "USE "+setting("CLIENT_SCHEMA"))
	content, err := os.ReadFile(filepath.Join(setting("CLIENT_SCENARIO"), "schema.sql"))
	check(err)
	for _, statement := range strings.Split(strings.TrimSpace(string(content)), "\n\n") {
		run(db, statement)
	}
}

// --- the steps ---------------------------------------------------------------------------------

func login(db *sql.DB) {
	section("login")
	say("server", value(db, "SELECT VERSION()"))
	say("user", value(db, "SELECT CURRENT_USER()"))
	say("database", value(db, "SELECT DATABASE()"))
	sayResults(db.Query("SELECT attr_name, IF(attr_name IN ('_pid', '_thread', '_server_host'), ''," +
		" attr_value) FROM performance_schema.session_connect_attrs" +
		" WHERE processlist_id = CONNECTION_ID() ORDER BY attr_name"))
	// MySQL forgets which passwords it has seen: the next login takes the long way.
	run(db, "FLUSH PRIVILEGES")
	for _, times := range []string{"forgotten", "remembered"} {
		again := mustConnect()
		say("login while "+times, value(again, "SELECT CURRENT_USER()"))
		check(again.Close())
	}
	_, err := connect(func(config *mysql.Config) { config.Passwd = "not it" })
	sayError("wrong password", err)
	_, err = connect(func(config *mysql.Config) { config.Passwd = "" })
	sayError("no password", err)
	_, err = connect(func(config *mysql.Config) { config.DBName = "no_such_database" })
	sayError("unknown database", err)
}

func query(db *sql.DB) {
	section("query")
	for _, text := range []string{
		"SELECT 1 AS one, 'two' AS two, NULL AS three",
		"SELECT d FROM digits WHERE d > 100",
		"DO 1",
		"SELECT '' AS blank, '🐟' AS fish",
		"SELECT @@character_set_client, @@character_set_results, @@collation_connection",
	} {
		sayResults(db.Query(text))
	}
}

func types(db *sql.DB) {
	section("types")
	sayResults(db.Query("SELECT * FROM everything ORDER BY id"))
	sayResults(db.Query("SELECT * FROM everything WHERE id > ? ORDER BY id", 0))
}

func parameters(db *sql.DB) {
	section("parameters")
	statement, err := db.Prepare("SELECT ? AS a, ? AS b, ? AS c")
	check(err)
	moment := time.Date(2024, 2, 29, 12, 30, 45, 123456000, time.UTC)
	for _, arguments := range [][]any{
		{1, "two", nil},
		{"1", 2.5, "\x00\\"},
		{nil, "🐟 it's", int64(-1 << 63)},
		{uint64(1<<64 - 1), true, moment},
	} {
		sayResults(statement.Query(arguments...))
	}
	check(statement.Close())
	sayResults(db.Query("SELECT HEX(?)", []byte("\x00\xff'\"\\")))
	for _, key := range []any{1, "2", nil} {
		sayResults(db.Query("SELECT huge, words FROM everything WHERE id = ?", key))
	}
	_, err = db.Prepare("SELECT * FROM no_such_table WHERE id = ?")
	sayError("cannot be prepared", err)
}

func sayResult(result sql.Result) {
	affected, err := result.RowsAffected()
	check(err)
	id, err := result.LastInsertId()
	check(err)
	say("affected, last id", affected, id)
}

func writes(db *sql.DB) {
	section("writes")
	sayResult(run(db, "INSERT INTO ledger (name, amount) VALUES (?, ?)", "ann", 1))
	sayResult(run(db, "INSERT INTO ledger (name, amount) VALUES ('bob', 2), ('cid', 3), ('dee', 4)"))
	sayResult(run(db, "UPDATE ledger SET amount = amount + ? WHERE amount > ?", 1, 1))
	sayResult(run(db, "UPDATE ledger SET amount = amount WHERE amount > 1"))
	sayResult(run(db, "INSERT INTO ledger (name, amount) VALUES ('ann', 9) ON DUPLICATE KEY UPDATE amount = 9"))
	sayResult(run(db, "DELETE FROM ledger WHERE name = ?", "dee"))
	statement, err := db.Prepare("INSERT INTO ledger (name, amount) VALUES (?, ?)")
	check(err)
	for i := range 100 {
		_, err := statement.Exec(fmt.Sprintf("many %d", i), i)
		check(err)
	}
	check(statement.Close())
	sayResults(db.Query("SELECT COUNT(*), SUM(amount) FROM ledger"))
}

func transactions(db *sql.DB) {
	section("transactions")
	for _, name := range []string{"rolled back", "committed"} {
		transaction, err := db.BeginTx(background, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		check(err)
		_, err = transaction.Exec("INSERT INTO ledger (name, amount) VALUES (?, 100)", name)
		check(err)
		if name == "committed" {
			check(transaction.Commit())
		} else {
			check(transaction.Rollback())
		}
		say(name, value(db, "SELECT COUNT(*) FROM ledger WHERE name = ?", name))
	}
	transaction, err := db.BeginTx(background, &sql.TxOptions{ReadOnly: true})
	check(err)
	_, err = transaction.Exec("DELETE FROM ledger")
	sayError("read only", err)
	check(transaction.Rollback())
}

func failures(db *sql.DB) {
	section("errors")
	for _, text := range []string{
		"INSERT INTO ledger (name, amount) VALUES ('ann', 1)",
		"SELEC 1",
		"SELECT * FROM no_such_table",
		"SELECT nothing FROM ledger",
		"",
		"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Grüße 🐟', MYSQL_ERRNO = 30001",
	} {
		_, err := db.Exec(text)
		sayError("refused", err)
	}
	_, err := db.Exec("INSERT INTO ledger (name, amount) VALUES (?, ?)", "ann", 1)
	sayError("duplicate key", err)
	say("alive afterwards", value(db, "SELECT 42"))
}

func warnings(db *sql.DB) {
	section("warnings")
	sayResults(db.Query("SELECT CAST('12abc' AS SIGNED), 1 / 0"))
	sayResults(db.Query("SHOW WARNINGS"))
	sayResults(db.Query("SHOW COUNT(*) WARNINGS"))
}

func manyStatements(db *sql.DB) {
	section("many statements")
	sayResults(db.Query("SELECT 1 AS a; INSERT INTO ledger (name, amount) VALUES ('multi', 1); DO 0;" +
		" SELECT 2 AS b UNION SELECT 3; UPDATE ledger SET amount = 2 WHERE name = 'multi'"))
	sayResults(db.Query("SELECT 1 AS a; SELECT * FROM no_such_table; SELECT 2 AS b"))
	say("alive afterwards", value(db, "SELECT 42"))
	connection, err := db.Conn(background)
	check(err)
	check(connection.Raw(func(raw any) error {
		text := "INSERT INTO ledger (name, amount) VALUES ('m1', 1); UPDATE ledger SET amount = 0 LIMIT 5"
		result, err := raw.(driver.ExecerContext).ExecContext(background, text, nil)
		check(err)
		all := result.(mysql.Result)
		say("affected, last ids", all.AllRowsAffected(), all.AllLastInsertIds())
		return nil
	}))
	check(connection.Close())
}

func procedures(db *sql.DB) {
	section("procedures")
	run(db, "SET @title = 'four'")
	sayResults(db.Query("CALL describe_number(?, @title, @doubled)", 4))
	sayResults(db.Query("SELECT @title, @doubled"))
	sayResults(db.Query("CALL describe_number(4, @title, @doubled)"))
	sayResults(db.Query("CALL refuse()"))
	say("alive afterwards", value(db, "SELECT 42"))
}

func bigResult(db *sql.DB) {
	section("big result")
	rows, err := db.Query("SELECT n, word, seventh FROM numbers WHERE n >= ? ORDER BY n", 0)
	check(err)
	defer rows.Close()
	hash, count := sha256.New(), 0
	for rows.Next() {
		var n int
		var word string
		var seventh sql.NullString
		check(rows.Scan(&n, &word, &seventh))
		if !seventh.Valid {
			seventh.String = "NULL"
		}
		fmt.Fprintf(hash, "%d|%s|%s\n", n, word, seventh.String)
		count++
	}
	check(rows.Err())
	say("rows", count)
	say("sha256", fmt.Sprintf("%x", hash.Sum(nil)))
}

func bigPackets(db *sql.DB) {
	section("big packets")
	body := make([]byte, 20<<20)
	for i := range body {
		body[i] = byte(i % 251)
	}
	run(db, "INSERT INTO archive VALUES (?, ?)", 1, body)
	say("sent", fmt.Sprintf("%x", sha256.Sum256(body)))
	say("stored", value(db, "SELECT SHA2(body, 256) FROM archive WHERE id = ?", 1))
	var read []byte
	check(db.QueryRow("SELECT body FROM archive WHERE id = ?", 1).Scan(&read))
	say("read", len(read), fmt.Sprintf("%x", sha256.Sum256(read)))
	// A row of length-prefixed text is 4 bytes more than the text: these straddle 2^24 - 1.
	for length := 16777210; length < 16777214; length++ {
		text := value(db, fmt.Sprintf("SELECT REPEAT('x', %d)", length))
		say("row around 16 MiB", len(text), strings.Count(text, "x"))
	}
	// A query is its text and one byte more.
	for length := 16777212; length < 16777218; length++ {
		start, end := "SELECT LENGTH('", "')"
		text := start + strings.Repeat("x", length-len(start)-len(end)) + end
		say("query around 16 MiB", value(db, text))
	}
}

func localInfile(db *sql.DB) {
	section("local infile")
	mysql.RegisterLocalFile(setting("CLIENT_LOAD_FILE"))
	sayResult(run(db, "LOAD DATA LOCAL INFILE '"+setting("CLIENT_LOAD_FILE")+"' INTO TABLE loaded"))
	sayResults(db.Query("SELECT COUNT(*), SUM(id), SUM(CRC32(name)) FROM loaded"))
	_, err := db.Exec("LOAD DATA LOCAL INFILE '/no/such/file' INTO TABLE loaded")
	sayError("missing file", err)
	mysql.RegisterReaderHandler("rows", func() io.Reader { return strings.NewReader("1000000\tfrom memory\n") })
	sayResult(run(db, "LOAD DATA LOCAL INFILE 'Reader::rows' INTO TABLE loaded"))
	say("alive afterwards", value(db, "SELECT 42"))
}

func sessionCommands(db *sql.DB) {
	section("session")
	check(db.Ping())
	run(db, "SET @kept = 'yes'")
	say("kept", value(db, "SELECT @kept"))
	run(db, "USE "+setting("CLIENT_DATABASE"))
	say("database", value(db, "SELECT DATABASE()"))
	_, err := db.Exec("USE no_such_database")
	sayError("no database", err)
	run(db, "USE "+setting("CLIENT_SCHEMA"))
	// A statement given up: the driver closes its connection, the pool opens another.
	given, cancel := context.WithTimeout(background, 100*time.Millisecond)
	_, err = db.ExecContext(given, "DO SLEEP(5)")
	cancel()
	sayError("given up", err)
	say("kept", value(db, "SELECT @kept"))
	run(db, "USE "+setting("CLIENT_SCHEMA"))
}

// isGone waits until the other connection's thread has ended on the server.
func isGone(db *sql.DB, thread string) bool {
	for range 250 {
		if value(db, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", thread) == "0" {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

func closeAll(db *sql.DB) {
	section("close")
	other := mustConnect()
	thread := value(other, "SELECT CONNECTION_ID()")
	check(other.Close())
	say("gone from the server", isGone(db, thread))
	victim := mustConnect()
	run(db, "KILL "+value(victim, "SELECT CONNECTION_ID()"))
	transaction, err := victim.Query("SELECT 1") // the pool may notice and connect anew
	if err == nil {
		check(transaction.Close())
	}
	check(victim.Close())
	run(db, "DROP DATABASE "+setting("CLIENT_SCHEMA"))
	check(db.Close())
}

func main() {
	log.SetFlags(log.Lshortfile)
	if os.Getenv("CLIENT_STORY") == "administration" {
		administer()
		return
	}
	db := mustConnect()
	prepareSchema(db)
	for _, step := range []func(*sql.DB){
		login, query, types, parameters, writes, transactions, failures, warnings, manyStatements,
		procedures, bigResult, bigPackets, localInfile, sessionCommands, closeAll,
	} {
		step(db)
	}
}
