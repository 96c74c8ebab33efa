// Package store holds job records and their events in JetStream.
//
// One stream, JUDGED_RECORDS, has one subject per job. Every change of a job's
// state is one message there: the whole record after the change, written only
// if the record before it is still the last one (compare-and-set on the
// subject's sequence). That one synced write is the state, the fence between
// attempts and the event, so no crash can part them:
//
//	records.<id>   queued -> running -> … -> done | cancelled
//	               seq 17    seq 40           seq 58
//
// A key-value bucket is the same stream underneath and costs the same per
// write (measured), but it keeps one revision only and would need the events
// beside it: three more synced writes per job, and a gap between the two.
//
// Events of single tests need no disk: a crash of judged judges the tests
// again, and afterwards they are in the report. They go through a stream in
// memory, JUDGED_FEED. An event's number is the sequence of the last change of
// state shifted left, plus the test's place in the attempt; so numbers rise
// within a job, and a finished job's feed can be told again from its record
// with the same numbers.
//
// Beside the jobs there is a small place for what judged learns of its slots:
// JUDGED_VALUES keeps the last JSON value of every name.
//
// An index in memory (headers only, filled by one pass at start) serves lists,
// waits and sweeps. On a cluster it follows the stream; embedded, this process
// is the only writer and updates it as it writes.
//
// Not here: what waits for a slot (queue), files (blob), what the verdict is.
package store
