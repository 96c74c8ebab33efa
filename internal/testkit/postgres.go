package testkit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience limits each step of a server on a busy machine.
const patience = time.Minute

// PostgresServer is a PostgreSQL server for one test. It is not safe for concurrent use.
type PostgresServer struct {
	programs  string
	dir       string
	settings  []string
	process   *exec.Cmd
	databases int
}

// unprivileged is the user nobody, because the server refuses to run as root.
const unprivileged = 65534

// StartPostgres starts a server that is stopped when the test ends. Settings are those of OpenPostgres.
func StartPostgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	Need(t, Postgres)
	s, err := OpenPostgres(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// OpenPostgres starts a server. Settings are lines of postgresql.conf, such as "fsync=off", which loses no data if only
// processes are killed.
func OpenPostgres(settings ...string) (*PostgresServer, error) {
	programs, err := PostgresPrograms()
	if err != nil {
		return nil, err
	}
	// Not t.TempDir, because it is inaccessible to other users, and the path of a socket has at most 107 bytes.
	dir, err := os.MkdirTemp("", "judged-pg-")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{programs: programs, dir: dir, settings: settings}
	err = s.initialize()
	if err == nil {
		err = s.start()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// initialize creates the data folder of the server.
func (s *PostgresServer) initialize() error {
	if os.Geteuid() == 0 {
		if err := os.Chown(s.dir, unprivileged, unprivileged); err != nil {
			return err
		}
	}
	initdb := s.command("initdb", "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C",
		"--pgdata="+s.data())
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("make a PostgreSQL database: %w\n%s", err, out)
	}
	return nil
}

// Close stops the server and removes its data.
func (s *PostgresServer) Close() error {
	var err error
	if s.process != nil {
		err = s.stop(syscall.SIGINT)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

func (s *PostgresServer) data() string { return filepath.Join(s.dir, "data") }

func (s *PostgresServer) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}
	return cmd
}

// Database creates an empty database for a test and returns its URL.
func (s *PostgresServer) Database(t testing.TB) string {
	t.Helper()
	url, err := s.NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// NewDatabase creates an empty database and returns its URL.
func (s *PostgresServer) NewDatabase() (url string, err error) {
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	if out, err := s.psql("CREATE DATABASE " + name); err != nil {
		return "", fmt.Errorf("make database %s: %w\n%s", name, err, out)
	}
	return "postgres://postgres@/" + name + "?host=" + s.dir, nil
}

// Restart starts the server after Kill and waits until it answers.
func (s *PostgresServer) Restart(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// start waits until the server answers. Processes of a killed server use its memory until they notice, and a
// new server exits immediately while there is one.
func (s *PostgresServer) start() error {
	end := time.Now().Add(patience)
	for {
		answers, err := s.tryStart()
		if answers || err != nil {
			return err
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("start PostgreSQL: not within %v: %s", patience, lastLines(string(text)))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *PostgresServer) tryStart() (answers bool, err error) {
	args := []string{"-D", s.data(), "-k", s.dir, "-h", ""}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	s.process = s.command("postgres", args...)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return false, err
	}
	defer log.Close()
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.process.Wait() }()
	return s.answers(ended), nil
}

// answers reports whether the server answers before it exits.
func (s *PostgresServer) answers(ended <-chan error) bool {
	for {
		if _, err := s.psql("SELECT 1"); err == nil {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *PostgresServer) psql(statement string) ([]byte, error) {
	return s.command("psql", "--no-psqlrc", "--host="+s.dir, "--username=postgres", "--dbname=postgres",
		"--command="+statement).CombinedOutput()
}

// Kill kills the server with SIGKILL. Its other processes exit when they notice.
func (s *PostgresServer) Kill(t testing.TB) {
	t.Helper()
	if err := s.stop(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// stop sends a signal and waits until the server has exited. It may have been killed before.
func (s *PostgresServer) stop(signal syscall.Signal) error {
	_ = s.process.Process.Signal(signal)
	for end := time.Now().Add(patience); s.process.Process.Signal(syscall.Signal(0)) == nil; {
		if time.Now().After(end) {
			return fmt.Errorf("stop PostgreSQL: it did not end within %v", patience)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// CPUTicks returns the user and system time of the server in 1/100 s.
func (s *PostgresServer) CPUTicks(t testing.TB) int {
	t.Helper()
	server := s.process.Process.Pid
	own, ended := CPUTicks(t, server)
	sum := own + ended
	for _, pid := range Children(t, server) {
		own, _ := CPUTicks(t, pid)
		sum += own
	}
	return sum
}

// LogSize returns the size of the server's log in bytes.
func (s *PostgresServer) LogSize(t testing.TB) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(s.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Log returns the server's log from the given offset on.
func (s *PostgresServer) Log(t testing.TB, after int64) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text[after:])
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-2):], "; ")
}
