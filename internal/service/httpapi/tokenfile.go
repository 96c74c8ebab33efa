package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"judged/internal/base/linux"
)

// TokenInfo describes the secrets of one name in a file of tokens.
type TokenInfo struct {
	Name    string   `json:"name"`
	Scopes  []string `json:"scopes"`
	Tenant  string   `json:"tenant,omitempty"`
	Secrets int      `json:"secrets"` // 2 while a new one replaces an old one
}

// List returns the names of the tokens in the order of the file.
func (t *Tokens) List() []TokenInfo {
	list := []TokenInfo{}
	for _, e := range t.entries {
		if i := slices.IndexFunc(list, func(i TokenInfo) bool { return i.Name == e.name }); i >= 0 {
			list[i].Secrets++
			continue
		}
		list = append(list, TokenInfo{Name: e.name, Scopes: e.scopes(), Tenant: e.tenant, Secrets: 1})
	}
	return list
}

// scopes returns the scopes in the syntax of the file.
func (e entry) scopes() []string {
	var all []string
	for _, g := range e.grants {
		text := string(g.scope)
		if g.pool != "" {
			text += ":" + g.pool
		}
		all = append(all, text)
	}
	return all
}

// AddToken adds a token to a file, which it creates if necessary, and returns the secret.
func AddToken(path string, n TokenInfo) (secret string, err error) {
	err = editTokens(path, func(lines []string, known *Tokens) ([]string, error) {
		if slices.Contains(known.Names(), n.Name) {
			return nil, fmt.Errorf("%q has a token; give judged token rotate, or another name", n.Name)
		}
		secret = newSecret()
		return append(lines, tokenLineOf(n, secret)), nil
	})
	return secret, err
}

// RotateToken adds a second secret for a name to a file, and returns it.
func RotateToken(path, name string) (secret string, err error) {
	err = editTokens(path, func(lines []string, known *Tokens) ([]string, error) {
		n, err := known.info(name)
		if err != nil {
			return nil, err
		}
		if n.Secrets > 1 {
			return nil, fmt.Errorf("%q has %d secrets; give judged token revoke --old %[1]s first", name, n.Secrets)
		}
		secret = newSecret()
		return append(lines, tokenLineOf(n, secret)), nil
	})
	return secret, err
}

// RevokeToken removes the secrets of a name from a file, or with old all but the last one, and returns how many.
func RevokeToken(path, name string, old bool) (removed int, err error) {
	err = editTokens(path, func(lines []string, known *Tokens) ([]string, error) {
		n, err := known.info(name)
		switch {
		case err != nil:
			return nil, err
		case old && n.Secrets == 1:
			return nil, fmt.Errorf("%q has one secret only; give judged token rotate first, or revoke it without --old",
				name)
		case !old && n.Secrets == len(known.entries):
			return nil, fmt.Errorf("%q is the only token, and judged needs one; add another one first", name)
		}
		for _, e := range slices.Backward(known.entries) {
			if e.name != name {
				continue
			}
			if old {
				old = false // the last one stays
				continue
			}
			lines = slices.Delete(lines, e.line-1, e.line)
			removed++
		}
		return lines, nil
	})
	return removed, err
}

// info returns the secrets of a name.
func (t *Tokens) info(name string) (TokenInfo, error) {
	for _, n := range t.List() {
		if n.Name == name {
			return n, nil
		}
	}
	return TokenInfo{}, fmt.Errorf("no token %q; judged token list shows all", name)
}

// newSecret returns a secret with 256 random bits. Scanners for leaked secrets find it by its beginning.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return "judged_" + base64.RawURLEncoding.EncodeToString(b[:])
}

// tokenLineOf returns the line of a token.
func tokenLineOf(n TokenInfo, secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return strings.TrimSpace(strings.Join([]string{n.Name, strings.Join(n.Scopes, ","), hex.EncodeToString(sum[:]),
		n.Tenant}, " "))
}

// editTokens replaces the lines of a file at once, and keeps its owner and mode. Edits do not overlap.
func editTokens(path string, edit func(lines []string, known *Tokens) ([]string, error)) error {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = path, nil
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(real))
	if err != nil {
		return err
	}
	defer dir.Close() // also unlocks it
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %q: %w", dir.Name(), err)
	}
	if err := linux.RemoveUnfinished(dir.Name(), unfinished(real)); err != nil {
		return fmt.Errorf("remove what a crash left of the token file: %w; remove it yourself", err)
	}
	text, err := os.ReadFile(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := &Tokens{}
	if strings.TrimSpace(string(text)) != "" {
		if known, err = ParseTokens(strings.NewReader(string(text))); err != nil {
			return fmt.Errorf("read tokens from %s: %w", path, err)
		}
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if lines[0] == "" && len(lines) == 1 {
		lines = nil
	}
	if lines, err = edit(lines, known); err != nil {
		return err
	}
	after := strings.Join(lines, "\n") + "\n"
	if _, err := ParseTokens(strings.NewReader(after)); err != nil {
		return fmt.Errorf("%s with this token: %w", path, err)
	}
	return replaceFile(real, after)
}

// replaceFile writes a file so that judged never reads a part of it. The file keeps its mode and owner.
func replaceFile(path, text string) error {
	return linux.ReplaceFile(path, unfinished(path), func(f *os.File) error {
		if old, err := os.Stat(path); err == nil {
			if err := errors.Join(f.Chmod(old.Mode().Perm()), copyOwner(f, old)); err != nil {
				return err
			}
		}
		_, err := f.WriteString(text)
		return err
	})
}

// unfinished returns the prefix of the names under which a file is written. No copy that an operator makes has it.
func unfinished(path string) string { return "." + filepath.Base(path) + ".unfinished-" }

// copyOwner sets the owner of f to that of old.
func copyOwner(f *os.File, old fs.FileInfo) error {
	owner, ok := old.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == os.Geteuid() && int(owner.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
