package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/cpuset"
	"judged/internal/base/text"
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
	Callbacks Callbacks `toml:"callbacks"`
	Canary    Canary    `toml:"canary"`
	Audit     Audit     `toml:"audit"`
	Pools     []Pool    `toml:"pools"`
	Tenants   []Tenant  `toml:"tenants"`
	Tune      Tune      `toml:"tune"`
	Judge0    Judge0    `toml:"judge0"`
	Judgehost Judgehost `toml:"judgehost"`
	Log       Log       `toml:"log"`
}

// HTTP configures the HTTP interface.
type HTTP struct {
	Listen        string        `toml:"listen"`
	TokenFile     string        `toml:"token_file"`
	CertFile      string        `toml:"cert_file"` // with KeyFile: enables HTTPS
	KeyFile       string        `toml:"key_file"`
	MaxBody       units.Bytes   `toml:"max_body"`
	MaxBlob       units.Bytes   `toml:"max_blob"`
	ShutdownGrace time.Duration `toml:"shutdown_grace"`
}

// Judge0 configures the interface of Judge0.
type Judge0 struct {
	Enabled bool   `toml:"enabled"`
	Listen  string `toml:"listen"` // its own address, in addition to /judge0/ at that of HTTP; "" for none
}

// Judgehost is the DOMjudge server for which a judge works instead of a front.
type Judgehost struct {
	URL             string `toml:"url"`              // of its interface; "" for none
	CredentialsFile string `toml:"credentials_file"` // path
	Name            string `toml:"name"`             // of the judgehosts, before -0; "" is the host name
}

// Database says where jobs and reports are stored. If URL is empty, they are stored in a SQLite database in the
// data directory.
type Database struct {
	URL string `toml:"url"`
}

// Blobs says where files are stored. If URL is empty, they are stored in a folder in the data directory.
type Blobs struct {
	URL string `toml:"url"` // file:///FOLDER or s3://BUCKET/PREFIX?endpoint=URL&region=REGION
}

// Parts returns the folder or the address of the bucket. Both are empty if URL is.
func (b Blobs) Parts() (folder, bucket string) {
	if folder, ok := strings.CutPrefix(b.URL, "file://"); ok {
		return folder, ""
	}
	return "", b.URL
}

// The roles of a daemon.
const (
	RoleAll   = "all"   // a single host with all functions
	RoleFront = "front" // HTTP and the database, no slots
	RoleJudge = "judge" // slots, no database: jobs come from a front
)

// Fleet is the daemon's place in a fleet of hosts.
type Fleet struct {
	Role      string      `toml:"role"`
	Front     string      `toml:"front"`           // judge only: URL of the front
	TokenFile string      `toml:"node_token_file"` // judge only: path of the file with the token
	Node      string      `toml:"node"`            // judge only: name of the node; with tokens, the token's name
	CacheSize units.Bytes `toml:"cache_size"`      // for copies of blobs, on a judge or on a front with a bucket
	CAFile    string      `toml:"ca_file"`         // judge only: private CA of the front's certificate
}

// Slots selects the CPUs on which programs are measured.
type Slots struct {
	CPUList cpuset.Set `toml:"cpu_list"` // if empty, CPUs are chosen by topology
	Width   int        `toml:"width"`
	Pool    string     `toml:"pool"`
	Class   string     `toml:"class"`
	// Member is the path of a file with the fingerprint of a host in the pool.
	Member string `toml:"pool_member"`
	Strict bool   `toml:"strict"`
}

// Sandbox configures the environment of programs.
type Sandbox struct {
	Root       string      `toml:"root"` // private, host or minimal
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
	Keep      units.Bytes   `toml:"keep"`     // of a stream or a file of a test
	KeepJob   units.Bytes   `toml:"keep_job"` // of all tests of a job
	Processes int           `toml:"processes"`
	Tests     int           `toml:"tests"`
	Files     int           `toml:"files"`
	Collect   int           `toml:"collect"` // files
	Repeats   int           `toml:"repeats"`
}

// JuryLimits are the limits of checkers and interactors.
type JuryLimits struct {
	CPUTime   time.Duration `toml:"cpu_time"`
	WallTime  time.Duration `toml:"wall_time"`
	Memory    units.Bytes   `toml:"memory"`
	Output    units.Bytes   `toml:"output"`
	Processes int           `toml:"processes"`
}

// Repeats says when and how often a test with a time near the limit is repeated.
type Repeats struct {
	Policy api.Policy `toml:"policy"`
}

// Queue limits the number of waiting jobs.
type Queue struct {
	MaxWaiting int `toml:"max_waiting"`
	MaxDeliver int `toml:"max_deliver"`
}

// Retention says how long finished jobs are kept. MaxAge also applies to unused blobs.
type Retention struct {
	MaxAge  time.Duration `toml:"max_age"`
	MaxJobs int           `toml:"max_jobs"` // 0: see Config.MaxJobs
}

// Callbacks says how judged reports the end of a job to the URL that the job names.
type Callbacks struct {
	SecretFile string   `toml:"secret_file"` // path; without it, jobs with a callback are refused
	Allow      []string `toml:"allow"`       // networks, addresses and host names that are reached although they are private
}

// Allowed returns the networks and the host names in Allow.
func (c Callbacks) Allowed() (networks []netip.Prefix, hosts []string, err error) {
	for _, text := range c.Allow {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, prefix.Masked())
		} else if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
			networks = append(networks, netip.PrefixFrom(addr, addr.BitLen()))
		} else if hostName().MatchString(text) {
			hosts = append(hosts, strings.ToLower(text))
		} else {
			return nil, nil, fmt.Errorf("%q is not a network, address or host name; write, for example, \"10.0.0.0/8\" or "+
				"\"platform.example.org\"", text)
		}
	}
	return networks, hosts, nil
}

// hostName needs a letter in the last label: digits and dots may be a mistyped network.
var hostName = text.Pattern(`^([A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]*[A-Za-z][A-Za-z0-9_-]*$`)

// maxJobsSQLite is the default of retention.max_jobs on a single host, where disk space is limited.
const maxJobsSQLite = 100_000

// MaxJobs returns the maximum number of finished jobs to keep; 0 means no limit. A fleet's database is limited
// only by retention.max_age.
func (c Config) MaxJobs() int {
	if c.Retention.MaxJobs == 0 && c.Database.URL == "" {
		return maxJobsSQLite
	}
	return c.Retention.MaxJobs
}

// Languages says how sources are compiled.
type Languages struct {
	File      string      `toml:"file"` // if empty, the built-in list is used
	CacheSize units.Bytes `toml:"cache_size"`
}

// Canary says how often reference kernels run on idle slots.
type Canary struct {
	Interval time.Duration `toml:"interval"` // 0 disables the canary
}

// Audit says what share of the jobs a front has judged again on another node, to compare the results.
type Audit struct {
	Percent  int           `toml:"percent"` // 0 disables audits
	Interval time.Duration `toml:"interval"`
	Shadow   time.Duration `toml:"shadow"` // how long audits of a new pool only raise alarms
	// CrossCheck makes a second node judge contest jobs with a time near the limit.
	CrossCheck bool `toml:"cross_check"`
}

// Pool holds the settings of one pool of judge nodes.
type Pool struct {
	Name string `toml:"name"`
	// AuditPercent overrides Audit.Percent for this pool, unless it is inheritAudit.
	AuditPercent int `toml:"audit_percent"`
	// DecidedBy makes this a screening pool: it decides results that do not depend on time, and the named pool
	// decides the others.
	DecidedBy string `toml:"decided_by"`
	// CheckPercent is the share of the jobs accepted by a screening pool that the deciding pool judges again.
	CheckPercent int `toml:"check_percent"`
	// ContestPercent is the share of the pool's slots that is reserved for contest jobs.
	ContestPercent int `toml:"contest_percent"`
}

// inheritAudit means that AuditPercent is not set.
const inheritAudit = -1

func newPool() Pool { return Pool{AuditPercent: inheritAudit, CheckPercent: 1} }

// Pool returns the settings of the named pool, or the defaults.
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

// Decider returns the pool that decides the times of jobs submitted to pool.
func (c Config) Decider(pool string) string { return cmp.Or(c.Pool(pool).DecidedBy, pool) }

// ContestPercents returns the pools with slots reserved for contests, and their shares.
func (c Config) ContestPercents() map[string]int {
	all := map[string]int{}
	for _, p := range c.Pools {
		if p.ContestPercent > 0 {
			all[p.Name] = p.ContestPercent
		}
	}
	return all
}

// PoolNames returns the pools that the configuration names, starting with this host's own.
func (c Config) PoolNames() []string {
	names := []string{c.Slots.Pool}
	for _, p := range c.Pools {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Tenant holds the settings of one tenant, to which tokens and their jobs belong.
type Tenant struct {
	Name string `toml:"name"`
	// Weight is the tenant's share of the slots while several tenants wait with jobs of a priority.
	Weight int `toml:"weight"`
	// Quotas; 0 means none.
	MaxWaiting    int           `toml:"max_waiting"`
	BlobsPerDay   units.Bytes   `toml:"blobs_per_day"`
	CPUTimePerDay time.Duration `toml:"cpu_time_per_day"`
}

func newTenant() Tenant { return Tenant{Weight: 1} }

// Tune says whether the daemon tunes the host.
type Tune struct {
	Apply   bool   `toml:"apply"`
	Journal string `toml:"journal"` // path
}

// Log configures the log, which is written to stderr.
type Log struct {
	Level  string `toml:"level"`  // debug, info, warn or error
	Format string `toml:"format"` // text or json
}

// Default returns the default configuration.
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
			UIDFirst:   1879048192, // above the range that systemd gives to containers
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
				Keep:      1 << 20,
				KeepJob:   64 << 20,
				Processes: 1024,
				Tests:     1000,
				Files:     100,
				Collect:   16,
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
		Callbacks: Callbacks{Allow: []string{}},
		Canary:    Canary{Interval: 10 * time.Minute},
		Audit:     Audit{Percent: 2, Interval: time.Hour, Shadow: 720 * time.Hour, CrossCheck: true},
		Tune:      Tune{Journal: "/run/judged/tune.json"},
		Log:       Log{Level: "info", Format: "text"},
	}
}

// Loopback reports whether Listen can be reached only from this machine. The only name that it accepts is
// localhost.
func (h HTTP) Loopback() bool { return loopback(h.Listen) }

// Loopback is like that of HTTP. Others cannot reach it without an address.
func (j Judge0) Loopback() bool { return j.Listen == "" || loopback(j.Listen) }

func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
