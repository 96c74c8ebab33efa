package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"judged/internal/api"
	"judged/internal/base/config"
	"judged/internal/base/poll"
	"judged/internal/base/units"
)

// QuotaError means that a tenant has used up one of its quotas. It also matches ErrFull.
type QuotaError struct {
	Tenant string
	Quota  string // key of the configuration
	Limit  string
	Reset  time.Duration // until a daily quota starts again; 0 for other quotas
}

// Error implements error.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("tenant %s has used up %s, which is %s", e.Tenant, e.Quota, e.Limit)
}

// Is makes the error match ErrFull.
func (e *QuotaError) Is(target error) bool { return target == ErrFull }

// used holds the usage of a tenant on one day.
type used struct {
	blobs units.Bytes
	cpu   time.Duration
}

// maxCPUTime bounds the CPU time of a tenant on one day, in nanoseconds. A node that has been taken over can report so
// much that the sum overflows: then the tenant has all of its quota again, or the sum cannot be stored.
const maxCPUTime = 1 << 61

func (u used) plus(v used) used { return used{u.blobs + v.blobs, min(u.cpu+v.cpu, maxCPUTime)} }

// usage adds up what tenants use. It is stored once a second, so a crash loses at most one second.
type usage struct {
	mu      sync.Mutex // guards the fields below
	tenants map[string]config.Tenant
	fresh   map[usageKey]used // not stored yet
}

// usageKey is a tenant and the start of a day in UTC, in nanoseconds since 1970.
type usageKey struct {
	tenant string
	day    int64
}

// storeUsageEvery is how often usage is stored.
const storeUsageEvery = time.Second

func (u *usage) tenant(name string) config.Tenant {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tenants[name]
}

// SetTenants changes Options.Tenants.
func (s *Store) SetTenants(all []config.Tenant) {
	s.turns.setTenants(all)
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	s.usage.tenants = map[string]config.Tenant{}
	for _, t := range all {
		s.usage.tenants[t.Name] = t
	}
}

// today returns the start of the day, and the time until the next one.
func (s *Store) today() (start int64, rest time.Duration) {
	const day = 24 * time.Hour
	now := s.now()
	begin := now.Truncate(day) // UTC days; leap seconds are ignored
	return begin.UnixNano(), begin.Add(day).Sub(now)
}

// charge adds to the usage of a tenant.
func (s *Store) charge(tenant string, u used) {
	if tenant == "" || u == (used{}) {
		return
	}
	day, _ := s.today()
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	if s.usage.fresh == nil {
		s.usage.fresh = map[usageKey]used{}
	}
	key := usageKey{tenant, day}
	s.usage.fresh[key] = s.usage.fresh[key].plus(u)
}

// ChargeBlobs adds stored bytes to the usage of the caller's tenant.
func (s *Store) ChargeBlobs(ctx context.Context, n units.Bytes) {
	s.charge(TenantOf(ctx), used{blobs: n})
}

// cpuOf returns the CPU time of all runs of a job.
func cpuOf(tests []api.TestReport) (u used) {
	for _, t := range tests {
		for _, r := range t.AllRuns() {
			u = u.plus(used{cpu: r.CPUTime})
		}
	}
	return u
}

var addUsage = fmt.Sprintf(`INSERT INTO tenant_usage (tenant, day, blob_bytes, cpu_ns) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (tenant, day) DO UPDATE SET blob_bytes = tenant_usage.blob_bytes + excluded.blob_bytes,
	cpu_ns = CASE WHEN tenant_usage.cpu_ns + excluded.cpu_ns > %[1]d THEN %[1]d
		ELSE tenant_usage.cpu_ns + excluded.cpu_ns END`, int64(maxCPUTime))

// storeUsage stores the usage added since the last call. It stays in fresh until it is stored, so a reader may briefly
// count it twice, but never misses it.
func (s *Store) storeUsage(ctx context.Context) error {
	s.usage.mu.Lock()
	fresh := maps.Clone(s.usage.fresh)
	s.usage.mu.Unlock()
	for key, u := range fresh {
		if _, err := s.exec(ctx, "set usage", addUsage, key.tenant, key.day, int64(u.blobs), int64(u.cpu)); err != nil {
			return err
		}
		s.usage.mu.Lock()
		left := s.usage.fresh[key].plus(used{-u.blobs, -u.cpu})
		if s.usage.fresh[key] = left; left == (used{}) {
			delete(s.usage.fresh, key)
		}
		s.usage.mu.Unlock()
	}
	return nil
}

// storeUsages stores usage periodically until life is done, and then once more.
func (s *Store) storeUsages(life context.Context) {
	for life.Err() == nil {
		poll.Sleep(life, storeUsageEvery)
		if err := s.storeUsage(context.WithoutCancel(life)); err != nil {
			s.opts.Log.Debug("cannot store the usage of tenants; retrying", "error", err)
		}
	}
}

// usedToday returns the usage of a tenant on the current day.
func (s *Store) usedToday(ctx context.Context, tenant string) (u used, err error) {
	day, _ := s.today()
	s.usage.mu.Lock()
	u = s.usage.fresh[usageKey{tenant, day}]
	s.usage.mu.Unlock()
	err = s.rows(ctx, s.read, query{"read usage", `SELECT blob_bytes, cpu_ns FROM tenant_usage WHERE tenant = ?1
AND day = ?2`, []any{tenant, day}}, func(rows *sql.Rows) error {
		var blobs, cpu int64
		err := rows.Scan(&blobs, &cpu)
		u = u.plus(used{units.Bytes(blobs), time.Duration(cpu)})
		return err
	})
	return u, err
}

// CheckUpload returns a QuotaError if the caller's tenant may not store another blob today.
func (s *Store) CheckUpload(ctx context.Context) error {
	t := s.usage.tenant(TenantOf(ctx))
	if t.BlobsPerDay == 0 {
		return nil
	}
	u, err := s.usedToday(ctx, t.Name)
	if err == nil && u.blobs >= t.BlobsPerDay {
		_, rest := s.today()
		err = &QuotaError{t.Name, "blobs_per_day", t.BlobsPerDay.String(), rest}
	}
	return err
}

// checkCPUTime returns a QuotaError if a tenant may not submit another job today.
func (s *Store) checkCPUTime(ctx context.Context, tenant string) error {
	t := s.usage.tenant(tenant)
	if t.CPUTimePerDay == 0 {
		return nil
	}
	u, err := s.usedToday(ctx, tenant)
	if err == nil && u.cpu >= t.CPUTimePerDay {
		_, rest := s.today()
		err = &QuotaError{tenant, "cpu_time_per_day", t.CPUTimePerDay.String(), rest}
	}
	return err
}

// Tenants returns the configured tenants that the caller may see, with their usage.
func (s *Store) Tenants(ctx context.Context) ([]api.Tenant, error) {
	s.usage.mu.Lock()
	all := slices.Collect(maps.Values(s.usage.tenants))
	s.usage.mu.Unlock()
	slices.SortFunc(all, func(a, b config.Tenant) int { return strings.Compare(a.Name, b.Name) })
	waiting, err := s.countQueue(ctx)
	if err != nil {
		return nil, err
	}
	_, rest := s.today()
	list := []api.Tenant{}
	for _, t := range all {
		if hidden(ctx, t.Name) {
			continue
		}
		u, err := s.usedToday(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, api.Tenant{Name: t.Name, Weight: t.Weight, Waiting: waiting[t.Name], MaxWaiting: t.MaxWaiting,
			BlobsToday: u.blobs, BlobsPerDay: t.BlobsPerDay, CPUTimeToday: u.cpu, CPUTimePerDay: t.CPUTimePerDay,
			ResetsAt: s.now().Add(rest).Truncate(time.Second)})
	}
	return list, nil
}
