// go-mssqldb.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

func open(more string) (*sql.DB, error) {
	password := os.Getenv("KEEL_PASSWORD")
	if strings.HasPrefix(more, "password=") {
		password = strings.TrimPrefix(more, "password=")
		more = ""
	}
	return sql.Open("sqlserver", fmt.Sprintf("sqlserver://sa:%s@%s:%s?database=%s&TrustServerCertificate=true&%s",
		password, os.Getenv("KEEL_HOST"), os.Getenv("KEEL_PORT"), os.Getenv("KEEL_DATABASE"), more))
}

func equal(got, expected any) error {
	if fmt.Sprint(got) != fmt.Sprint(expected) {
		return fmt.Errorf("got %v, expected %v", got, expected)
	}
	return nil
}

func with(more string, body func(db *sql.DB) error) func() error {
	return func() error {
		db, err := open(more)
		if err != nil {
			return err
		}
		defer db.Close()
		return body(db)
	}
}

func number(err error, expected int32) error {
	var e mssql.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("not a server error: %v", err)
	}
	return equal(e.Number, expected)
}

func login(db *sql.DB) error {
	var name string
	if err := db.QueryRow("SELECT DB_NAME()").Scan(&name); err != nil {
		return err
	}
	return equal(name, os.Getenv("KEEL_DATABASE"))
}

func types(db *sql.DB) error {
	guid := mssql.UniqueIdentifier{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	cases := []struct {
		sqlType string
		value   any
	}{
		{"bit", true}, {"tinyint", int64(255)}, {"int", int64(-7)}, {"bigint", int64(-9223372036854775808)},
		{"float", 1.5e300}, {"decimal(18,4)", "1234.5678"}, {"money", "1234.5678"},
		{"datetime2(7)", time.Date(2026, 11, 21, 20, 21, 22, 123456700, time.UTC)},
		{"date", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)},
		{"varchar(50)", "café €"}, {"nvarchar(50)", "漢字 😀"}, {"nvarchar(max)", strings.Repeat("漢", 20000)},
		{"hierarchyid", []byte{0x58}}, {"geometry", append([]byte{0, 0, 0, 0, 1, 12}, make([]byte, 16)...)},
		{"varbinary(max)", []byte(strings.Repeat("x", 9000))}, {"uniqueidentifier", guid},
	}
	for i, c := range cases {
		table := fmt.Sprintf("##go%d", i)
		conn, err := db.Conn(context.Background())
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(context.Background(), fmt.Sprintf("CREATE TABLE %s (v %s NULL)", table, c.sqlType)); err != nil {
			return err
		}
		if _, err := conn.ExecContext(context.Background(), fmt.Sprintf("INSERT %s VALUES (@p1), (NULL)", table), c.value); err != nil {
			return fmt.Errorf("%s: %w", c.sqlType, err)
		}
		var got any
		if err := conn.QueryRowContext(context.Background(), fmt.Sprintf("SELECT v FROM %s WHERE v IS NOT NULL", table)).Scan(&got); err != nil {
			return fmt.Errorf("%s: %w", c.sqlType, err)
		}
		if b, ok := got.([]byte); ok {
			if _, binary := c.value.([]byte); !binary && c.sqlType != "uniqueidentifier" {
				got = string(b)
			}
			if c.sqlType == "uniqueidentifier" {
				var u mssql.UniqueIdentifier
				if err := u.Scan(b); err != nil {
					return err
				}
				got = u
			}
		}
		if err := equal(got, c.value); err != nil {
			return fmt.Errorf("%s: %w", c.sqlType, err)
		}
		var nulls int
		if err := conn.QueryRowContext(context.Background(), fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE v IS NULL", table)).Scan(&nulls); err != nil {
			return err
		}
		if err := equal(nulls, 1); err != nil {
			return err
		}
		conn.ExecContext(context.Background(), "DROP TABLE "+table)
		conn.Close()
	}
	return nil
}

func prepared(db *sql.DB) error {
	statement, err := db.Prepare("SELECT @p1 + 1, @p2")
	if err != nil {
		return err
	}
	defer statement.Close()
	for i := 0; i < 100; i++ {
		var n int
		var s string
		if err := statement.QueryRow(i, fmt.Sprint("text ", i)).Scan(&n, &s); err != nil {
			return err
		}
		if err := equal(fmt.Sprint(n, s), fmt.Sprint(i+1, "text ", i)); err != nil {
			return err
		}
	}
	return nil
}

func procedure(db *sql.DB) error {
	if _, err := db.Exec("CREATE OR ALTER PROCEDURE p_go @a int, @b int OUTPUT AS SET @b = @a * 2; RETURN 7"); err != nil {
		return err
	}
	var b int
	var status mssql.ReturnStatus
	if _, err := db.Exec("p_go", sql.Named("a", 21), sql.Named("b", sql.Out{Dest: &b}), &status); err != nil {
		return err
	}
	return equal(fmt.Sprint(b, status), fmt.Sprint(42, 7))
}

func transactions(db *sql.DB) error {
	if _, err := db.Exec("CREATE TABLE tx_go (a int)"); err != nil {
		return err
	}
	defer db.Exec("DROP TABLE tx_go")
	for i, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT tx_go VALUES (1)"); err != nil {
			return err
		}
		if err := end(tx); err != nil {
			return err
		}
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM tx_go").Scan(&n); err != nil {
			return err
		}
		if err := equal(n, i); err != nil {
			return err
		}
	}
	return nil
}

func failures(db *sql.DB) error {
	var n int
	if err := number(db.QueryRow("SELECT 1/0").Scan(&n), 8134); err != nil {
		return err
	}
	return number(db.QueryRow("SELECT * FROM nowhere").Scan(&n), 208)
}

func cancel(db *sql.DB) error {
	ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	started := time.Now()
	if _, err := db.ExecContext(ctx, "WAITFOR DELAY '00:10:00'"); err == nil {
		return errors.New("not cancelled")
	}
	if time.Since(started) > 5*time.Minute {
		return errors.New("cancelled late")
	}
	return login(db)
}

func pool(db *sql.DB) error {
	db.SetMaxOpenConns(1)
	for i := 0; i < 5; i++ {
		var id any
		if err := db.QueryRow("SELECT OBJECT_ID('tempdb..#left_over')").Scan(&id); err != nil {
			return err
		}
		if err := equal(id, nil); err != nil {
			return err
		}
		if _, err := db.Exec("CREATE TABLE #left_over (a int)"); err != nil {
			return err
		}
	}
	return nil
}

func bulk(db *sql.DB) error {
	if _, err := db.Exec("CREATE TABLE bulk_go (a int NOT NULL, b nvarchar(30) NULL)"); err != nil {
		return err
	}
	defer db.Exec("DROP TABLE bulk_go")
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	statement, err := tx.Prepare(mssql.CopyIn("bulk_go", mssql.BulkOptions{}, "a", "b"))
	if err != nil {
		return err
	}
	for i := 0; i < 100000; i++ {
		var b any = fmt.Sprint("row ", i)
		if i%7 == 0 {
			b = nil
		}
		if _, err := statement.Exec(i, b); err != nil {
			return err
		}
	}
	if _, err := statement.Exec(); err != nil {
		return err
	}
	if err := statement.Close(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	var n, m int
	if err := db.QueryRow("SELECT COUNT(*), COUNT(b) FROM bulk_go").Scan(&n, &m); err != nil {
		return err
	}
	return equal(fmt.Sprint(n, m), fmt.Sprint(100000, 85714))
}

type pair struct {
	A int
	B string
}

func tableParameter(db *sql.DB) error {
	if _, err := db.Exec("CREATE TYPE pairs_go AS TABLE (a int, b nvarchar(20))"); err != nil {
		return err
	}
	defer db.Exec("DROP TYPE pairs_go")
	rows := []pair{{1, "x"}, {2, "y"}, {3, "z"}}
	var sum, count int
	err := db.QueryRow("SELECT SUM(a), COUNT(*) FROM @p", sql.Named("p", mssql.TVP{TypeName: "pairs_go", Value: rows})).Scan(&sum, &count)
	if err != nil {
		return err
	}
	return equal(fmt.Sprint(sum, count), fmt.Sprint(6, 3))
}

func main() {
	checks := []struct {
		name string
		run  func() error
	}{
		{"login, encrypt true", with("encrypt=true", login)},
		{"login, encrypt false", with("encrypt=false", login)},
		{"login, encrypt disable", with("encrypt=disable", login)},
		{"login, encrypt strict", with("encrypt=strict&certificate="+os.Getenv("KEEL_CERTIFICATE"), login)},
		{"wrong password", with("password=wrong", func(db *sql.DB) error { return number(db.Ping(), 18456) })},
		{"every type", with("", types)},
		{"prepared statement", with("", prepared)},
		{"procedure", with("", procedure)},
		{"transactions", with("", transactions)},
		{"errors", with("", failures)},
		{"cancel", with("", cancel)},
		{"pool with reset", with("", pool)},
		{"bulk copy", with("", bulk)},
		{"table-valued parameter", with("", tableParameter)},
	}
	failed := false
	for _, c := range checks {
		if len(os.Args) > 1 && os.Args[1] != c.name {
			continue
		}
		if err := c.run(); err != nil {
			failed = true
			fmt.Printf("FAILED go %s\n%v\n", c.name, err)
		} else {
			fmt.Printf("ok     go %s\n", c.name)
		}
	}
	if failed {
		os.Exit(1)
	}
}
