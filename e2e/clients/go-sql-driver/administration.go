package main

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// administer says what the admin port answers.
func administer() {
	db, err := connect(nil)
	check(err)
	say("user", value(db, "SELECT USER()"))
	var weight, word, name string
	joined := "SELECT b.weight, s.value FROM backends b JOIN settings s ON s.name = 'limits.sessions_max'"
	check(db.QueryRow(joined).Scan(&weight, &word))
	say("joined", weight, word)
	say("tables", value(db, "SHOW TABLES LIKE 'sess%'"))
	var number int
	prepared := "SELECT ? AS number, ? AS word, name FROM settings WHERE name = ?"
	check(db.QueryRow(prepared, 7, "it's 🐟", "limits.sessions_max").Scan(&number, &word, &name))
	say("prepared", number, word, name)
	run(db, "USE stats")
	say("schema", value(db, "SELECT DATABASE()"))
	run(db, "USE pilotfish")
	const setting = "SELECT value FROM settings WHERE name = 'limits.sessions_max'"
	const change = "UPDATE settings SET value = ? WHERE name = ?"
	affected, err := run(db, change, 888, "limits.sessions_max").RowsAffected()
	check(err)
	say("changed", affected, value(db, setting))
	transaction, err := db.Begin()
	check(err)
	_, err = transaction.Exec(change, 999, "limits.sessions_max")
	check(err)
	check(transaction.Rollback())
	say("rolled back", value(db, setting))
	run(db, "REVERT")
	say("reverted", value(db, setting))
	_, err = db.Exec("SELECT * FROM nowhere")
	say("unknown table", codeOf(err))
	_, err = db.Exec("SELECT FROM")
	say("syntax", codeOf(err))
	_, err = connect(func(config *mysql.Config) { config.Passwd = "not it" })
	say("wrong password", codeOf(err))
	check(db.Ping())
	say("alive", value(db, "SELECT 42"))
	check(db.Close())
}

// codeOf is the number in an error.
func codeOf(err error) uint16 {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) {
		check(errors.Join(errors.New("an error of the server was expected"), err))
	}
	return refused.Number
}
