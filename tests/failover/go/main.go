// Writers with go-mssqldb. Each prints `A writer n time_ns` for every acknowledged row and `E writer text` for every failure.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "github.com/microsoft/go-mssqldb"
)

func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		panic(name + ": " + err.Error())
	}
	return n
}

var out sync.Mutex

func say(format string, args ...any) {
	out.Lock()
	defer out.Unlock()
	fmt.Printf(format+"\n", args...)
}

// open makes a pool of one connection to one of the hosts; it connects with the first statement.
func open(host string) *sql.DB {
	query := url.Values{"database": {"shop"}, "encrypt": {"true"}, "TrustServerCertificate": {"true"}, "disableretry": {"true"},
		// Whether hosts are names with several addresses each, which the driver tries side by side.
		"multisubnetfailover": {strconv.FormatBool(os.Getenv("KEEL_MULTI_SUBNET") != "")}}
	dsn := url.URL{
		Scheme: "sqlserver", User: url.UserPassword("sa", os.Getenv("KEEL_PASSWORD")),
		Host: host + ":" + os.Getenv("KEEL_PORT"), RawQuery: query.Encode(),
	}
	db, err := sql.Open("sqlserver", dsn.String())
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// write inserts a row. The driver waits five seconds for a silent server to confirm a cancelled statement, so the time-out is
// ours: who does not answer in time is left behind with its connection.
func write(db *sql.DB, timeout time.Duration, campaign, writer, n int) error {
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := db.ExecContext(ctx, "INSERT shop.dbo.ledger (campaign, writer, n) VALUES (@p1, @p2, @p3)", campaign, writer, n)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(timeout):
		return errors.New("no answer in time")
	}
}

func run(writer int) {
	hosts := strings.Split(os.Getenv("KEEL_HOSTS"), ",")
	pace, _ := strconv.ParseFloat(os.Getenv("KEEL_PACE_MS"), 64)
	timeout := time.Duration(number("KEEL_TIMEOUT_MS")) * time.Millisecond
	campaign, host := number("KEEL_CAMPAIGN"), writer
	for range number("KEEL_LOGINS_FIRST") {
		first := open(hosts[host%len(hosts)])
		// Of severity 20: the connection is over.
		_, _ = first.Exec("RAISERROR (N'A writer ends its connection.', 20, 1) WITH LOG")
		_ = first.Close()
	}
	db := open(hosts[host%len(hosts)])
	for n := 1; ; n++ {
		if err := write(db, timeout, campaign, writer, n); err != nil {
			say("E %d %s", writer, strings.Join(strings.Fields(err.Error()), " "))
			host++
			// Closing may wait for the connection it gave up on.
			go db.Close()
			db = open(hosts[host%len(hosts)])
			// The writers and the servers share a machine.
			time.Sleep(time.Millisecond)
			continue
		}
		say("A %d %d %d", writer, n, time.Now().UnixNano())
		time.Sleep(time.Duration(pace * float64(time.Millisecond)))
	}
}

func main() {
	first := number("KEEL_FIRST_WRITER")
	for i := range number("KEEL_WRITERS") {
		go run(first + i)
	}
	select {}
}
