package jobs

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"judged/internal/api"
)

// TestServerErrors checks which errors of the server are temporary: those that an operator of the database ends, without
// a change of the request. A judge gives up a report after other errors.
func TestServerErrors(t *testing.T) {
	for _, tt := range []struct{ code, advice string }{
		{"08006", "log of the database server"},
		{"25006", "set database.url to the primary"},
		{"25P03", "log of the database server"}, // idle_in_transaction_session_timeout
		{"25P04", "log of the database server"}, // transaction_timeout
		{"28000", "database.url"},               // pg_hba.conf
		{"28P01", "database.url"},               // the password was changed
		{"3D000", "database.url"},               // no such database
		{"42501", "must own its database"},
		{"53100", "free disk space"},
		{"53300", "log of the database server"},
		{"57P03", "log of the database server"},
		{"22021", ""}, // the data is at fault
		{"42703", ""}, // the statement is at fault
		{"54000", ""}, // a limit of the server
	} {
		var operation string
		s, err := connect(Options{URL: refusingServer(t, tt.code), Timeout: 10 * time.Second,
			OnUnavailable: func(name string) { operation = name }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Get(t.Context(), "a")
		if errors.Is(err, api.ErrUnavailable) != (tt.advice != "") || !strings.Contains(err.Error(), tt.advice) ||
			(operation == "read") != (tt.advice != "") {
			t.Errorf("%s: %v; counted as %q; want the advice %q", tt.code, err, operation, tt.advice)
		}
		if err := s.write.Close(); err != nil {
			t.Error(err)
		}
	}
}

// refusingServer returns the URL of a PostgreSQL server that refuses all connections with an error.
func refusingServer(t *testing.T, code string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server := pgproto3.NewBackend(conn, conn)
			if _, err := server.ReceiveStartupMessage(); err == nil {
				server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: "refused by a test"})
				_ = server.Flush() // the client has gone
			}
			conn.Close()
		}
	}()
	return "postgres://judged@" + listener.Addr().String() + "/judged?sslmode=disable"
}
