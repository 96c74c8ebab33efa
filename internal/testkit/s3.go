package testkit

import (
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// S3Server is a server for one test with one empty bucket.
type S3Server struct {
	address string
	folder  string
	process *exec.Cmd
}

const bucket = "judged"

// credentials are the credentials of the only user.
var credentials = [2]string{"tester", "secret of the tester"}

// Credentials returns the variables of the environment with the credentials of each S3Server.
func Credentials() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": credentials[0], "AWS_SECRET_ACCESS_KEY": credentials[1]}
}

// StartS3 starts a server that is stopped when the test ends. It sets the credentials in the environment of this
// process and its children, which a parallel test must have done before.
func StartS3(t testing.TB) *S3Server {
	t.Helper()
	Need(t, S3)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &S3Server{address: l.Addr().String(), folder: t.TempDir()}
	l.Close()
	if err := os.Mkdir(filepath.Join(s.folder, bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, value := range Credentials() {
		if setter, ok := t.(interface{ Setenv(key, value string) }); ok && os.Getenv(name) != value {
			setter.Setenv(name, value)
		}
	}
	s.Restart(t)
	t.Cleanup(s.Kill)
	return s
}

// URL returns the bucket's address in the format of blobs.url.
func (s *S3Server) URL() string { return "s3://" + bucket + "/blobs?endpoint=http://" + s.address }

// Restart starts the server after Kill and waits until it answers.
func (s *S3Server) Restart(t testing.TB) {
	t.Helper()
	s.process = exec.Command("versitygw", "--port", s.address, "--quiet", "posix", s.folder)
	s.process.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+credentials[0], "ROOT_SECRET_KEY="+credentials[1])
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	WaitFor(t, patience, "the S3 server to answer", func() bool {
		c, err := net.Dial("tcp", s.address)
		return err == nil && c.Close() == nil
	})
}

// Kill kills the server with SIGKILL.
func (s *S3Server) Kill() {
	_ = s.process.Process.Kill() // it may have exited
	_ = s.process.Wait()
}

// Freeze stops the server with SIGSTOP, so that it accepts connections but does not answer.
func (s *S3Server) Freeze(t testing.TB) {
	t.Helper()
	if err := s.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Damage replaces the content of the one object whose path contains part.
func (s *S3Server) Damage(t testing.TB, part, content string) {
	t.Helper()
	damaged := 0
	err := filepath.WalkDir(filepath.Join(s.folder, bucket), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(path, part) {
			return err
		}
		damaged++
		return os.WriteFile(path, []byte(content), 0o600)
	})
	if err != nil || damaged != 1 {
		t.Fatalf("damaged %d objects: %v", damaged, err)
	}
}
