// go-mssqldb by Kerberos, in its own implementation: tickets from a cache.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	mssql "github.com/microsoft/go-mssqldb"
	_ "github.com/microsoft/go-mssqldb/integratedauth/krb5"
)

func who(user string) (string, error) {
	options := url.Values{
		"database":               {os.Getenv("KEEL_DATABASE")},
		"TrustServerCertificate": {"true"},
		"authenticator":          {"krb5"},
		// With a port it asks for the host's canonical name, and leaves out the last letter of "localhost".
		"ServerSPN":              {"MSSQLSvc/localhost"},
		"krb5-configfile":        {os.Getenv("KRB5_CONFIG")},
		"krb5-credcachefile":     {os.Getenv("KEEL_TICKET_FILES") + user},
	}
	db, err := sql.Open("sqlserver", "sqlserver://localhost:"+os.Getenv("KEEL_PORT")+"?"+options.Encode())
	if err != nil {
		return "", err
	}
	defer db.Close()
	var name, scheme string
	query := "SELECT SUSER_SNAME(), auth_scheme FROM sys.dm_exec_connections WHERE session_id = @@SPID"
	err = db.QueryRow(query).Scan(&name, &scheme)
	return name + " " + scheme, err
}

func main() {
	failed := 0
	check := func(name string, ok bool, seen ...any) {
		if ok {
			fmt.Println("ok     kerberos go_" + name)
			return
		}
		failed = 1
		fmt.Println("FAILED kerberos go_" + name)
		fmt.Println(seen...)
	}
	got, err := who("bob")
	check("with_tickets", err == nil && got == `KEEL\bob KERBEROS`, got, err)
	_, err = who("eve")
	var e mssql.Error
	check("without_login", errors.As(err, &e) && e.Number == 18456, err)
	os.Exit(failed)
}
