//go:build cgo && !embedinit

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// InitProgram returns cmd/judged-init, which it builds: with cgo the running program
// is linked dynamically, and a sandbox has no loader for it. That is go test where a
// C compiler is installed.
var InitProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "judged-init-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "judged-init")
	build := exec.Command("go", "build", "-o", path, "judged/cmd/judged-init")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build judged-init: %w: %s; build judged by make, or with CGO_ENABLED=0", err, out)
	}
	return os.ReadFile(path)
})
