package httpapi

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"time"

	"judged/internal/jobs"
)

var idText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// newID returns a new ID of 26 characters. IDs sort by their time in milliseconds; 80 random bits make them unique.
func newID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never returns an error
	return idText.EncodeToString(b[:])
}

// keyedID derives a job's ID from the caller and the Idempotency-Key, so that the keys need no table.
func keyedID(caller, key string) string { return jobs.OwnID("key", caller+"\x00"+key) }

// batchID derives the ID of a job from the Idempotency-Key of its batch.
func batchID(caller, key string, index int) string {
	return jobs.OwnID("batch", fmt.Sprintf("%s\x00%s\x00%d", caller, key, index))
}

// keyedSet derives the ID of a rejudging from the caller and the Idempotency-Key.
func keyedSet(caller, key string) string { return jobs.OwnID("key", "rejudging\x00"+caller+"\x00"+key) }
