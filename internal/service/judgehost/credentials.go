package judgehost

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"judged/internal/base/text"
)

// Account is that of the hosts at a server.
type Account struct{ User, Password string }

// ReadServer reads a file like DOMjudge's restapi.secret. The URL may be in the file, too; then both are the same, or url
// is "". Errors do not quote the file.
func ReadServer(url, path string) (s Server, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, fmt.Errorf("%w; give a file that exists", err)
	}
	defer f.Close()
	var found [][]string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			found = append(found, strings.Fields(line))
		}
	}
	if err := lines.Err(); err != nil {
		return s, err
	}
	switch {
	case len(found) != 1:
		return s, fmt.Errorf("%q has %d lines; want one, ID URL USER PASSWORD", path, len(found))
	case len(found[0]) == 4 && url == "":
		s.URL = found[0][1]
	case len(found[0]) == 4 && strings.TrimRight(url, "/") != strings.TrimRight(found[0][1], "/"):
		return s, fmt.Errorf("%q has another URL of the server; correct one of them", path)
	case len(found[0]) == 2 && url == "":
		return s, errors.New("no URL; give the address of the server, which ends with /api/v4")
	case len(found[0]) != 4 && len(found[0]) != 2:
		return s, fmt.Errorf("%q: the line has %d words; want ID URL USER PASSWORD, or USER PASSWORD", path, len(found[0]))
	default:
		s.URL = url
	}
	last := found[0][len(found[0])-2:]
	s.Account = Account{last[0], last[1]}
	return s, nil
}

var hostName = text.Pattern(`^[A-Za-z0-9_.-]{1,50}$`)

// HostsName checks the name of all hosts; "" stands for the first part of the host name.
func HostsName(name string) (string, error) {
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("read host name: %w; give a name", err)
		}
		name, _, _ = strings.Cut(host, ".")
	}
	if !hostName().MatchString(name) {
		return "", fmt.Errorf("%q: want up to 50 letters, digits, dots, hyphens and underscores", name)
	}
	return name, nil
}

// HostName returns the name of the host of slot i.
func HostName(hosts string, i int) string { return fmt.Sprintf("%s-%d", hosts, i) }
