package jobs

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"judged/internal/api"
)

func packAll(t testing.TB, list ...Submission) (all []Packed) {
	t.Helper()
	for _, n := range list {
		p, err := pack(n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// testPutAll checks the results for jobs that are put together, and that they are stored like those of Put.
func testPutAll(t *testing.T, b backend) {
	const room = 100
	s := b.open(t, func(o *Options) { o.MaxWaiting = room + 1 })
	old := s.put("old", nil)
	list := []Submission{
		{ID: "old", BodyDigest: "digest", Job: sampleJob()},
		{ID: "old", BodyDigest: "other", Job: sampleJob()},
		{ID: "job0", BodyDigest: "digest", Job: sampleJob()},
		{ID: "job0", BodyDigest: "digest", Job: sampleJob()},
		{ID: "job0", BodyDigest: "other", Job: sampleJob()},
	}
	want := []Stored{{}, {Err: ErrConflict}, {Created: true}, {}, {Err: ErrConflict}}
	for n := 1; n < room; n++ {
		list = append(list, Submission{ID: fmt.Sprint("job", n), BodyDigest: "digest", Job: sampleJob()})
		want = append(want, Stored{Created: true})
	}
	list = append(list, Submission{ID: "more", Job: sampleJob()}, Submission{ID: "old", BodyDigest: "digest"},
		Submission{ID: "job99", BodyDigest: "digest"})
	want = append(want, Stored{Err: ErrFull}, Stored{}, Stored{})
	got, err := s.PutAll(s.ctx(), packAll(t, list...))
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" || err != nil {
		t.Fatalf("%v, outcomes (-want +got):\n%s", err, diff)
	}
	rec, single := s.get("job7"), old
	single.ID, single.Report.ID, single.Lease.ID, single.Report.CreatedAt = "job7", "job7", "job7", rec.Report.CreatedAt
	if diff := cmp.Diff(single, rec); diff != "" {
		t.Errorf("differs from a job of Put:\n%s", diff)
	}
	page, _, err := s.List(s.ctx(), Filter{Label: sampleJob().Labels, Limit: maxPage})
	if len(page) != room+1 || err != nil {
		t.Errorf("%d jobs have the labels, want %d: %v", len(page), room+1, err)
	}
	var order, asked []string
	for n := range 5 {
		asked = append(asked, fmt.Sprint("job", n))
	}
	s.take()
	for range asked {
		order = append(order, s.take().ID)
	}
	if diff := cmp.Diff(asked, order); diff != "" {
		t.Errorf("order (-asked +taken):\n%s", diff)
	}
	again, err := s.PutAll(s.ctx(), packAll(t, list...))
	for i := range want {
		want[i].Created = false
	}
	want[len(want)-3] = Stored{Created: true} // the queue has room now
	if diff := cmp.Diff(want, again, cmpopts.EquateErrors()); diff != "" || err != nil {
		t.Errorf("again: %v, outcomes (-want +got):\n%s", err, diff)
	}
}

// testPutAllOfTenants checks that jobs belong to the tenant of the caller, and that those of others are conflicts.
func testPutAllOfTenants(t *testing.T, b backend) {
	s := b.open(t, nil)
	s.putOf("", "job-", nil)
	for tenant, want := range map[string][]Stored{
		"a": {{Created: true}, {Err: ErrConflict}}, "b": {{Created: true}, {Err: ErrConflict}},
	} {
		var list []Packed
		for _, id := range []string{"job-" + tenant, "job-"} {
			p, err := s.Pack(s.of(tenant), Submission{ID: id, BodyDigest: "digest", Job: sampleJob()})
			s.must(err)
			list = append(list, p)
		}
		got, err := s.PutAll(s.of(tenant), list)
		if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" || err != nil {
			t.Errorf("%v, outcomes of %q (-want +got):\n%s", err, tenant, diff)
		}
		if diff := cmp.Diff([]string{"job-" + tenant + " of " + tenant}, s.listed(tenant, Filter{})); diff != "" {
			t.Errorf("jobs of %q (-want +got):\n%s", tenant, diff)
		}
	}
}

// testPutWhole checks that no job is stored if there is no room for all of them, and that none keeps its place.
func testPutWhole(t *testing.T, b backend) {
	s := b.open(t, func(o *Options) { o.MaxWaiting = 3 })
	three := []Submission{{ID: "a", Job: sampleJob()}, {ID: "b", Job: sampleJob()}, {ID: "c", Job: sampleJob()}}
	_, err := s.PutWhole(s.ctx(), packAll(t, append(three, Submission{ID: "d", Job: sampleJob()})...))
	s.want(err, ErrFull)
	if page, _, err := s.List(s.ctx(), Filter{}); len(page) != 0 || err != nil {
		t.Errorf("stored %d jobs, %v", len(page), err)
	}
	got, err := s.PutWhole(s.ctx(), packAll(t, three...))
	if diff := cmp.Diff([]Stored{{Created: true}, {Created: true}, {Created: true}}, got); diff != "" || err != nil {
		t.Errorf("%v, outcomes (-want +got):\n%s", err, diff)
	}
}

// testPutAllRefused checks that no job is stored if one of them cannot be stored.
func testPutAllRefused(t *testing.T, b backend) {
	s := b.open(t, nil)
	_, err := s.PutAll(s.ctx(), packAll(t, Submission{ID: "a", Job: sampleJob()}, Submission{ID: "-", Job: sampleJob()}))
	s.want(err, ErrBadID)
	if _, err := s.Get(s.ctx(), "a"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("stored: %v", err)
	}
	if _, err := pack(Submission{ID: "a", Job: api.Job{Priority: "urgent"}}); err == nil {
		t.Error("an unknown priority is packed")
	}
}
