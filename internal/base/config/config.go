package config

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/units"
)

// Config holds all settings. The toml tags are the keys of the file and, in capitals after JUDGED_, the names of the
// environment variables.
type Config struct {
	DataDir   string    `toml:"data_dir"`
	HTTP      HTTP      `toml:"http"`
	Database  Database  `toml:"database"`
	Blobs     Blobs     `toml:"blobs"`
	Fleet     Fleet     `toml:"fleet"`
	Slots     Slots     `toml:"slots"`
	Sandbox   Sandbox   `toml:"sandbox"`
	Languages Languages `toml:"languages"`
	Limits    Limits    `toml:"limits"`
	Repeats   Repeats   `toml:"repeats"`
	Queue     Queue     `toml:"queue"`
	Retention Retention `toml:"retention"`
	Canary    Canary    `toml:"canary"`
	Audit     Audit     `toml:"audit"`
	Pools     []Pool    `toml:"pools"`
	Tune      Tune      `toml:"tune"`
	Log       Log       `toml:"log"`
}

// HTTP is the interface to platforms.
type HTTP struct {
	Listen        string        `toml:"listen"`
	TokenFile     string        `toml:"token_file"`
	CertFile      string        `toml:"cert_file"` // with KeyFile: HTTPS
	KeyFile       string        `toml:"key_file"`
	MaxBody       units.Bytes   `toml:"max_body"`
	MaxBlob       units.Bytes   `toml:"max_blob"`
	ShutdownGrace time.Duration `toml:"shutdown_grace"`
}

// Database is where jobs and reports are stored. An empty URL is a SQLite
// database in the data directory.
type Database struct {
	URL string `toml:"url"`
}

// Blobs is where files are stored. An empty URL is a folder in the data directory.
type Blobs struct {
	URL string `toml:"url"` // file:///FOLDER or s3://BUCKET/PREFIX?endpoint=URL&region=REGION
}

// Parts returns the folder, or the address of a bucket, or neither.
func (b Blobs) Parts() (folder, bucket string) {
	if folder, ok := strings.CutPrefix(b.URL, "file://"); ok {
		return folder, ""
	}
	return "", b.URL
}

// The roles of a daemon.
const (
	RoleAll   = "all"   // one host with everything
	RoleFront = "front" // HTTP and the database, no slots
	RoleJudge = "judge" // slots, no database: jobs come from a front
)

// Fleet says what this daemon is in a fleet of hosts.
type Fleet struct {
	Role      string      `toml:"role"`
	Front     string      `toml:"front"`           // URL, of a judge
	TokenFile string      `toml:"node_token_file"` // of a judge; the file holds the token itself
	Node      string      `toml:"node"`            // name of a judge; with tokens that of its token
	CacheSize units.Bytes `toml:"cache_size"`      // copies of blobs: of a judge, and of a front with a bucket
	CAFile    string      `toml:"ca_file"`         // of a judge, for a front with a certificate of one's own CA
}

// Slots says which CPUs programs are measured on.
type Slots struct {
	CPUList cpuset.Set `toml:"cpu_list"` // empty: chosen from the topology
	Width   int        `toml:"width"`
	Pool    string     `toml:"pool"`
	Class   string     `toml:"class"`
	// Member is a file with the fingerprint of a host of the pool.
	Member string `toml:"pool_member"`
	Strict bool   `toml:"strict"`
}

// Sandbox is the environment of programs.
type Sandbox struct {
	Root       string      `toml:"root"` // private, host, minimal
	WorkSize   units.Bytes `toml:"work_size"`
	WorkInodes int         `toml:"work_inodes"`
	UIDFirst   int         `toml:"uid_first"`
	UIDCount   int         `toml:"uid_count"`
}

// Limits are the default limits of jobs and the largest that a job may ask for.
type Limits struct {
	Default DefaultLimits `toml:"default"`
	Max     MaxLimits     `toml:"max"`
	Jury    JuryLimits    `toml:"jury"`
}

// DefaultLimits apply where a job has no limit. WallTime 0 means twice the job's CPU time plus a second, Stack 0 means the
// job's memory limit.
type DefaultLimits struct {
	CPUTime   time.Duration `toml:"cpu_time"`
	WallTime  time.Duration `toml:"wall_time"`
	Memory    units.Bytes   `toml:"memory"`
	Output    units.Bytes   `toml:"output"`
	Stack     units.Bytes   `toml:"stack"`
	Processes int           `toml:"processes"`
}

// MaxLimits bound what a job may ask for.
type MaxLimits struct {
	CPUTime   time.Duration `toml:"cpu_time"`
	WallTime  time.Duration `toml:"wall_time"`
	Memory    units.Bytes   `toml:"memory"`
	Output    units.Bytes   `toml:"output"`
	Head      units.Bytes   `toml:"head"`
	Processes int           `toml:"processes"`
	Tests     int           `toml:"tests"`
	Files     int           `toml:"files"`
	Repeats   int           `toml:"repeats"`
}

// JuryLimits bound a run of a program of the jury: a checker or an interactor.
type JuryLimits struct {
	CPUTime   time.Duration `toml:"cpu_time"`
	WallTime  time.Duration `toml:"wall_time"`
	Memory    units.Bytes   `toml:"memory"`
	Output    units.Bytes   `toml:"output"`
	Processes int           `toml:"processes"`
}

// Repeats says how a time verdict near the limit is decided.
type Repeats struct {
	Policy api.Policy `toml:"policy"`
}

// Queue bounds the waiting jobs.
type Queue struct {
	MaxWaiting int `toml:"max_waiting"`
	MaxDeliver int `toml:"max_deliver"`
}

// Retention says how long finished jobs are kept. MaxAge is also that of unused blobs.
type Retention struct {
	MaxAge  time.Duration `toml:"max_age"`
	MaxJobs int           `toml:"max_jobs"` // 0: see Config.MaxJobs
}

// maxJobsSQLite is retention.max_jobs of one host, whose disk is bounded.
const maxJobsSQLite = 100_000

// MaxJobs is the most finished jobs that are kept; 0 is no limit. The database of a fleet keeps
// what retention.max_age says.
func (c Config) MaxJobs() int {
	if c.Retention.MaxJobs == 0 && c.Database.URL == "" {
		return maxJobsSQLite
	}
	return c.Retention.MaxJobs
}

// Languages says how sources are compiled.
type Languages struct {
	File      string      `toml:"file"` // "" is the list that judged has built in
	CacheSize units.Bytes `toml:"cache_size"`
}

// Canary says how often reference kernels are run on idle slots.
type Canary struct {
	Interval time.Duration `toml:"interval"` // 0 is never
}

// Audit says which part of the jobs a front has judged once more on another node, to compare them.
type Audit struct {
	Percent  int           `toml:"percent"` // 0 disables audits
	Interval time.Duration `toml:"interval"`
	Shadow   time.Duration `toml:"shadow"` // how long a new pool only raises alarms
	// CrossCheck has jobs of contests with a time near the limit judged on a second node.
	CrossCheck bool `toml:"cross_check"`
}

// Pool is a pool of judge nodes, as far as it differs from one that is not configured.
type Pool struct {
	Name string `toml:"name"`
	// AuditPercent is Audit.Percent of this pool; inheritAudit is the same as for others.
	AuditPercent int `toml:"audit_percent"`
	// DecidedBy makes it a screening pool: it decides what does not depend on time, the pool of this name the rest.
	DecidedBy string `toml:"decided_by"`
	// CheckPercent is the part of what a screening pool accepts that the deciding pool judges, too.
	CheckPercent int `toml:"check_percent"`
	// ContestPercent is the part of its slots that judge jobs of contests only.
	ContestPercent int `toml:"contest_percent"`
}

// inheritAudit is an AuditPercent that is not set.
const inheritAudit = -1

func newPool() Pool { return Pool{AuditPercent: inheritAudit, CheckPercent: 1} }

// Pool returns a pool by its name.
func (c Config) Pool(name string) Pool {
	for _, p := range c.Pools {
		if p.Name == name {
			if p.AuditPercent == inheritAudit {
				p.AuditPercent = c.Audit.Percent
			}
			return p
		}
	}
	p := newPool()
	p.Name, p.AuditPercent = name, c.Audit.Percent
	return p
}

// Decider is the pool whose times count for jobs of a pool.
func (c Config) Decider(pool string) string { return cmp.Or(c.Pool(pool).DecidedBy, pool) }

// ContestPercents are the pools with slots for contests only.
func (c Config) ContestPercents() map[string]int {
	all := map[string]int{}
	for _, p := range c.Pools {
		if p.ContestPercent > 0 {
			all[p.Name] = p.ContestPercent
		}
	}
	return all
}

// PoolNames are the pools that the configuration names: the one of this host first.
func (c Config) PoolNames() []string {
	names := []string{c.Slots.Pool}
	for _, p := range c.Pools {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Tune says whether the daemon sets the host up itself.
type Tune struct {
	Apply   bool   `toml:"apply"`
	Journal string `toml:"journal"` // file
}

// Log configures the log on stderr.
type Log struct {
	Level  string `toml:"level"`  // debug, info, warn, error
	Format string `toml:"format"` // text, json
}

// Default is the configuration without any file.
func Default() Config {
	return Config{
		DataDir: "/var/lib/judged",
		HTTP: HTTP{
			Listen:        "127.0.0.1:8080",
			MaxBody:       64 << 20,
			MaxBlob:       512 << 20,
			ShutdownGrace: 30 * time.Second,
		},
		Fleet: Fleet{Role: RoleAll, CacheSize: 32 << 30},
		Slots: Slots{Width: 1, Pool: "default"},
		Sandbox: Sandbox{
			Root:       "private",
			WorkSize:   64 << 20,
			WorkInodes: 4096,
			UIDFirst:   1879048192, // above what systemd gives to containers
			UIDCount:   65536,
		},
		Languages: Languages{CacheSize: 1 << 30},
		Limits: Limits{
			Default: DefaultLimits{
				CPUTime:   2 * time.Second,
				Memory:    256 << 20,
				Output:    64 << 20,
				Processes: 64,
			},
			Max: MaxLimits{
				CPUTime:   60 * time.Second,
				WallTime:  180 * time.Second,
				Memory:    4 << 30,
				Output:    256 << 20,
				Head:      64 << 10,
				Processes: 1024,
				Tests:     1000,
				Files:     100,
				Repeats:   100,
			},
			Jury: JuryLimits{
				CPUTime:   10 * time.Second,
				WallTime:  30 * time.Second,
				Memory:    1 << 30,
				Output:    8 << 20,
				Processes: 64,
			},
		},
		Repeats:   Repeats{Policy: api.Confirm},
		Queue:     Queue{MaxWaiting: 100000, MaxDeliver: 3},
		Retention: Retention{MaxAge: 720 * time.Hour},
		Canary:    Canary{Interval: 10 * time.Minute},
		Audit:     Audit{Percent: 2, Interval: time.Hour, Shadow: 720 * time.Hour, CrossCheck: true},
		Tune:      Tune{Journal: "/run/judged/tune.json"},
		Log:       Log{Level: "info", Format: "text"},
	}
}

// Loopback reports whether Listen can be reached only from this machine. Of names only localhost is trusted to resolve to
// loopback.
func (h HTTP) Loopback() bool {
	host, _, err := net.SplitHostPort(h.Listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
