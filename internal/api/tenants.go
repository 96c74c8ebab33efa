package api

import (
	"time"

	"judged/internal/base/units"
)

// Tenant is a tenant with its quotas and what it has used of them. A quota of 0 means none.
type Tenant struct {
	Name          string        `json:"name"`
	Weight        int           `json:"weight"`
	Waiting       int           `json:"waiting"` // number of queued jobs
	MaxWaiting    int           `json:"max_waiting,omitempty"`
	BlobsToday    units.Bytes   `json:"blobs_today_bytes"` // stored for the first time
	BlobsPerDay   units.Bytes   `json:"blobs_per_day_bytes,omitempty"`
	CPUTimeToday  time.Duration `json:"cpu_time_today_ns"` // of all runs of jobs that ended or were passed on
	CPUTimePerDay time.Duration `json:"cpu_time_per_day_ns,omitempty"`
	ResetsAt      time.Time     `json:"resets_at"` // end of the day, in UTC
}

// TenantList is the list of tenants.
type TenantList struct {
	Tenants []Tenant `json:"tenants"`
}
