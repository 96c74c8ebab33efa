package guest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// readResults reads the results from the channel's file. It returns those received so far, even if the guest
// has crashed.
func readResults(path string) (map[string]Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	return parseResults(f)
}

func parseResults(r io.Reader) (map[string]Result, error) {
	results := map[string]Result{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return results, fmt.Errorf("read results: the guest ended before it was done (%d commands over)",
				over(results))
		case err != nil:
			return results, fmt.Errorf("read results: %w", err)
		}
		var f Frame
		if err := json.Unmarshal(line, &f); err != nil {
			return results, fmt.Errorf("read results: parse line %.80q: %w", line, err)
		}
		switch f.Stream {
		case Done:
			return results, nil
		case Broken:
			return results, fmt.Errorf("the guest's /init: %s", f.Failure)
		case Beat:
			continue
		}
		if err := add(results, f); err != nil {
			return results, fmt.Errorf("read results: %w", err)
		}
	}
}

func add(results map[string]Result, f Frame) error {
	r := results[f.Name]
	switch f.Stream {
	case Stdout:
		r.Stdout += string(f.Data)
	case Stderr:
		r.Stderr += string(f.Data)
	case Exit:
		r.ExitCode, r.Signal, r.Failure, r.Over = f.ExitCode, f.Signal, f.Failure, true
		if got := [2]int{len(r.Stdout), len(r.Stderr)}; int64(got[0]) != f.StdoutBytes ||
			int64(got[1]) != f.StderrBytes {
			return fmt.Errorf("command %q sent %d and %d bytes, %d and %d arrived", f.Name, f.StdoutBytes,
				f.StderrBytes, got[0], got[1])
		}
	default:
		return fmt.Errorf("unknown frame %q", f.Stream)
	}
	results[f.Name] = r
	return nil
}

func over(results map[string]Result) (n int) {
	for _, r := range results {
		if r.Over {
			n++
		}
	}
	return n
}
