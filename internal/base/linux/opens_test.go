package linux_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/base/linux"
)

// TestOpens: each file is reported once and in order, and no event is lost.
func TestOpens(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	o, err := linux.NewOpens(paths)
	if err != nil {
		t.Fatal(err)
	}
	take := func() []int {
		got, err := o.Read()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	open := func(i int) {
		f, err := os.Open(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	got := [][]int{take()}
	open(2)
	open(0)
	open(2)
	if err := o.Wait(); err != nil {
		t.Fatal(err)
	}
	got = append(got, take(), take())
	waited := make(chan error)
	go func() { waited <- o.Wait() }()
	open(1)
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	got = append(got, take())
	if diff := cmp.Diff([][]int{nil, {2, 0}, nil, {1}}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	go func() {
		for o.Wait() == nil { // the removal of the last watch is also an event
			if _, err := o.Read(); err != nil {
				break
			}
		}
		close(waited)
	}()
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	<-waited
}
