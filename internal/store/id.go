package store

import "strings"

// maxID is the longest id in bytes.
const maxID = 64

// ValidID reports whether id may name a job: 1 to 64 of A-Z a-z 0-9 . _ - and
// a letter or digit first, so that it is safe in a path and in a URL.
func ValidID(id string) bool {
	if id == "" || len(id) > maxID || !alphanumeric(id[0]) {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !alphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// token is id as one token of a subject: a dot would part it in two. No id
// holds "=".
func token(id string) string { return strings.ReplaceAll(id, ".", "=") }

func untoken(t string) string { return strings.ReplaceAll(t, "=", ".") }

func recordSubject(id string) string { return "records." + token(id) }

func feedSubject(id string) string { return "feed." + token(id) }

func toldSubject(id string) string { return "told." + token(id) }
