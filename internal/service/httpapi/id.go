package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"
)

var idText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// newID is a fresh id of 26 characters. Later ids sort behind earlier ones, to
// the millisecond; 80 bits of chance make them unique.
func newID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails, crypto/rand says
	return idText.EncodeToString(b[:])
}

// keyedID is the id of a job under an Idempotency-Key: the same for the same key
// of the same caller, so the store is all that has to remember it.
func keyedID(caller, key string) string {
	sum := sha256.Sum256([]byte(caller + "\x00" + key))
	return "key-" + idText.EncodeToString(sum[:20])
}
