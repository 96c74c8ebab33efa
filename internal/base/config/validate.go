package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/text"
	"judged/internal/base/units"
)

// poolName excludes spaces, because they separate fields in notifications between hosts.
var poolName = text.Pattern(`^[A-Za-z0-9_-]{1,64}$`)

// ValidPool reports whether name is a valid pool name.
func ValidPool(name string) bool { return poolName().MatchString(name) }

// ValidTenant reports whether name is a valid name of a tenant.
func ValidTenant(name string) bool { return poolName().MatchString(name) }

// nodeName is also the syntax of token names.
var nodeName = text.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// validator collects errors, so that all of them are reported at once.
type validator struct{ errs []error }

func (v *validator) check(ok bool, key, format string, args ...any) {
	if !ok {
		v.errs = append(v.errs, fmt.Errorf("%s: "+format, append([]any{key}, args...)...))
	}
}

// Validate checks all values. The error has one line for each invalid value, with the key and a valid example.
func (c Config) Validate() error {
	v := &validator{}
	v.check(c.DataDir != "", "data_dir", "empty; give a directory for jobs and blobs")
	v.http(c.HTTP)
	v.judge0(c)
	v.database(c.Database)
	v.blobs(c.Blobs)
	v.fleet(c)
	v.judgehost(c)
	v.slots(c.Slots)
	v.sandbox(c.Sandbox)
	between(v, "languages.cache_size", c.Languages.CacheSize, 1<<20, 1<<46)
	v.limits(c.Limits)
	v.check(c.Limits.Max.Keep <= c.HTTP.MaxBlob, "limits.max.keep", "%s does not fit into a blob; use at most the value "+
		"of http.max_blob, %s", c.Limits.Max.Keep, c.HTTP.MaxBlob)
	oneOf(v, "repeats.policy", c.Repeats.Policy, api.Policies()...)
	between(v, "queue.max_waiting", c.Queue.MaxWaiting, 1, 10_000_000)
	between(v, "queue.max_deliver", c.Queue.MaxDeliver, 1, 100)
	between(v, "retention.max_age", c.Retention.MaxAge, time.Minute, 100*365*24*time.Hour)
	between(v, "retention.max_jobs", c.Retention.MaxJobs, 0, 10_000_000)
	_, _, err := c.Callbacks.Allowed()
	v.check(err == nil, "callbacks.allow", "%v", err)
	v.check(c.Canary.Interval == 0 || c.Canary.Interval >= time.Second, "canary.interval",
		"%s is too short; write at least \"1s\", or \"\" for never", c.Canary.Interval)
	between(v, "audit.percent", c.Audit.Percent, 0, 100)
	between(v, "audit.interval", c.Audit.Interval, time.Second, 24*time.Hour)
	between(v, "audit.shadow", c.Audit.Shadow, 0, 365*24*time.Hour)
	v.pools(c)
	v.tenants(c.Tenants)
	v.check(filepath.IsAbs(c.Tune.Journal), "tune.journal",
		"%q does not begin with /; write an absolute path such as \"/run/judged/tune.json\"", c.Tune.Journal)
	oneOf(v, "log.level", c.Log.Level, "debug", "info", "warn", "error")
	oneOf(v, "log.format", c.Log.Format, "text", "json")
	return errors.Join(v.errs...)
}

func (v *validator) http(h HTTP) {
	v.listen("http.listen", h.Listen)
	v.check((h.CertFile == "") == (h.KeyFile == ""), "http.cert_file",
		"a certificate needs its key; set both http.cert_file and http.key_file, or none")
	between(v, "http.max_body", h.MaxBody, 1<<10, 1<<30)
	between(v, "http.max_blob", h.MaxBlob, 1<<10, 1<<40)
	between(v, "http.shutdown_grace", h.ShutdownGrace, 0, time.Hour)
}

func (v *validator) listen(key, address string) {
	_, port, err := net.SplitHostPort(address)
	v.check(err == nil, key, `%q is not HOST:PORT; write an address such as "127.0.0.1:8080"`, address)
	if err == nil {
		_, err := strconv.ParseUint(port, 10, 16)
		v.check(err == nil, key, "port %q is not a number from 0 to 65535; 0 picks a free one", port)
	}
}

func (v *validator) judge0(c Config) {
	v.check(!c.Judge0.Enabled || c.Fleet.Role != RoleJudge, "judge0.enabled",
		"a judge has no jobs; enable it on the front")
	if c.Judge0.Listen != "" {
		v.listen("judge0.listen", c.Judge0.Listen)
		v.check(c.Judge0.Enabled, "judge0.listen", "given without judge0.enabled; set that, too")
	}
}

func (v *validator) database(d Database) {
	// The URL may contain a password, so the error omits it.
	u, err := url.Parse(d.URL)
	v.check(d.URL == "" || err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql"), "database.url",
		`not the address of a PostgreSQL server; write, for example, "postgres://judged@10.0.0.5/judged", or "" for SQLite in the data directory`)
}

func (v *validator) blobs(b Blobs) {
	u, err := url.Parse(b.URL)
	ok := err == nil
	if ok {
		switch u.Scheme {
		case "":
			ok = b.URL == ""
		case "file":
			ok = u.Host == "" && len(u.Path) > 1
		case "s3":
			endpoint, err := url.Parse(u.Query().Get("endpoint"))
			ok = u.Host != "" && u.User == nil && err == nil && (endpoint.Host != "") == u.Query().Has("endpoint")
		default:
			ok = false
		}
	}
	// The URL may contain a secret by mistake, so the error omits it.
	v.check(ok, "blobs.url", `not a place for blobs; write, for example, "file:///mnt/judged" or `+
		`"s3://judged?endpoint=https://s3.example.org", without keys, or "" for a folder in the data directory`)
}

func (v *validator) fleet(c Config) {
	f := c.Fleet
	oneOf(v, "fleet.role", f.Role, RoleAll, RoleFront, RoleJudge)
	between(v, "fleet.cache_size", f.CacheSize, 0, 1<<50)
	if f.Role != RoleJudge {
		v.check(f.Front == "", "fleet.front", "only a judge has a front; set fleet.role = \"judge\", or leave it empty")
		return
	}
	if c.Judgehost.URL == "" {
		v.check(isHTTP(f.Front), "fleet.front",
			"%q is not the URL of a front; write one like \"https://judge.example.org\"", f.Front)
	}
	v.check(c.Database.URL == "", "database.url", "a judge has no database; remove it, the front has one")
	v.check(c.Blobs.URL == "", "blobs.url", "a judge has copies only; remove it, the front has the blobs")
	v.check(f.Node == "" || nodeName().MatchString(f.Node), "fleet.node",
		"%q is not a name; use 1 to 64 letters, digits, dots, - and _, beginning with a letter or digit", f.Node)
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

func (v *validator) judgehost(c Config) {
	j := c.Judgehost
	if j == (Judgehost{}) {
		return
	}
	u, err := url.Parse(j.URL)
	// The URL may contain a password by mistake, so the error omits it.
	v.check(isHTTP(j.URL) && err == nil && u.User == nil && u.RawQuery == "", "judgehost.url", "not the address of a "+
		"DOMjudge server; write one like \"https://domjudge.example/api/v4\", without user and password")
	v.check(j.CredentialsFile != "", "judgehost.credentials_file",
		"empty; name the file with the account of the judgehosts")
	v.check(c.Fleet.Role == RoleJudge, "judgehost.url",
		"only a judge works for a DOMjudge server; set fleet.role = \"judge\"")
	v.check(c.Fleet.Front == "", "judgehost.url", "a judge works for a front or for a DOMjudge server; leave "+
		"fleet.front or judgehost.url empty")
}

func (v *validator) slots(s Slots) {
	between(v, "slots.width", s.Width, 1, 1024)
	if len(s.CPUList) > 0 {
		v.check(s.Width <= len(s.CPUList), "slots.width",
			"%d CPUs per slot do not fit into the %d of slots.cpu_list; give more CPUs or a smaller width", s.Width,
			len(s.CPUList))
	}
	v.name("slots.pool", s.Pool, ValidPool)
	v.check(s.Class == "" || poolName().MatchString(s.Class), "slots.class",
		"%q is not a name; use up to 64 letters, digits, - and _", s.Class)
}

func (v *validator) name(key, name string, valid func(string) bool) {
	v.check(valid(name), key, "%q is not a name; use 1 to 64 letters, digits, - and _", name)
}

func (v *validator) pools(c Config) {
	seen := map[string]bool{}
	for i, p := range c.Pools {
		key := element("pools", i)
		v.name(key+".name", p.Name, ValidPool)
		v.check(!seen[p.Name], key+".name", "%q is another pool already; list each pool once", p.Name)
		seen[p.Name] = true
		between(v, key+".audit_percent", p.AuditPercent, inheritAudit, 100)
		between(v, key+".contest_percent", p.ContestPercent, 0, 100)
		if p.DecidedBy == "" {
			continue
		}
		between(v, key+".check_percent", p.CheckPercent, 1, 100)
		v.name(key+".decided_by", p.DecidedBy, ValidPool)
		v.check(slices.Contains(c.PoolNames(), p.DecidedBy), key+".decided_by",
			"%q is not a pool; use one of %s, or add it to [[pools]]", p.DecidedBy, strings.Join(c.PoolNames(), ", "))
		v.check(p.DecidedBy != p.Name && c.Pool(p.DecidedBy).DecidedBy == "", key+".decided_by",
			"%q does not decide itself; give a pool without decided_by", p.DecidedBy)
	}
}

// maxWeight limits the ratio of the shares of two tenants.
const maxWeight = 1000

func (v *validator) tenants(all []Tenant) {
	seen := map[string]bool{}
	for i, t := range all {
		key := element("tenants", i)
		v.name(key+".name", t.Name, ValidTenant)
		v.check(!seen[t.Name], key+".name", "%q is another tenant already; list each tenant once", t.Name)
		seen[t.Name] = true
		between(v, key+".weight", t.Weight, 1, maxWeight)
		between(v, key+".max_waiting", t.MaxWaiting, 0, 10_000_000)
		between(v, key+".blobs_per_day", t.BlobsPerDay, 0, 1<<50)
		between(v, key+".cpu_time_per_day", t.CPUTimePerDay, 0, 100*365*24*time.Hour)
	}
}

func (v *validator) sandbox(s Sandbox) {
	oneOf(v, "sandbox.root", s.Root, "private", "host", "minimal")
	between(v, "sandbox.work_size", s.WorkSize, 64<<10, 1<<40)
	between(v, "sandbox.work_inodes", s.WorkInodes, 16, 10_000_000)
	// IDs of host users are below 1000; (uid_t)-1 and the top half of the range have special meanings.
	between(v, "sandbox.uid_first", s.UIDFirst, 1000, 1<<31-2)
	between(v, "sandbox.uid_count", s.UIDCount, 1, 1<<24)
	v.check(s.UIDFirst+s.UIDCount <= 1<<31-1, "sandbox.uid_count",
		"the range ends beyond 2147483646; lower uid_first or uid_count")
}

func (v *validator) limits(l Limits) {
	d, m := l.Default, l.Max
	between(v, "limits.max.cpu_time", m.CPUTime, time.Millisecond, 24*time.Hour)
	between(v, "limits.max.wall_time", m.WallTime, m.CPUTime, 24*time.Hour)
	between(v, "limits.max.memory", m.Memory, 1<<20, 1<<46)
	between(v, "limits.max.output", m.Output, 1, 1<<40)
	between(v, "limits.max.head", m.Head, 0, 1<<20)
	between(v, "limits.max.keep", m.Keep, 1<<10, 64<<20)
	between(v, "limits.max.keep_job", m.KeepJob, m.Keep, 1<<30)
	between(v, "limits.max.collect", m.Collect, 0, 100)
	between(v, "limits.max.processes", m.Processes, 1, 1<<20)
	between(v, "limits.max.tests", m.Tests, 1, 100_000)
	between(v, "limits.max.files", m.Files, 0, 10_000)
	between(v, "limits.max.repeats", m.Repeats, 1, 10_000)

	j := l.Jury
	between(v, "limits.jury.cpu_time", j.CPUTime, time.Millisecond, 24*time.Hour)
	between(v, "limits.jury.wall_time", j.WallTime, time.Millisecond, 24*time.Hour)
	between(v, "limits.jury.memory", j.Memory, 1<<20, 1<<46)
	between(v, "limits.jury.output", j.Output, 1, 1<<40)
	between(v, "limits.jury.processes", j.Processes, 1, 1<<20)

	between(v, "limits.default.cpu_time", d.CPUTime, time.Millisecond, m.CPUTime)
	between(v, "limits.default.wall_time", d.WallTime, 0, m.WallTime)
	v.check(d.WallTime == 0 || d.WallTime >= d.CPUTime, "limits.default.wall_time",
		"%s is shorter than limits.default.cpu_time, %s; give a longer time, or \"\" for twice the CPU time plus 1s",
		durationText(d.WallTime), durationText(d.CPUTime))
	v.check(d.CPUTime%time.Millisecond == 0 && d.WallTime%time.Millisecond == 0,
		"limits.default", "times finer than a millisecond; write whole milliseconds")
	between(v, "limits.default.memory", d.Memory, 1<<20, m.Memory)
	between(v, "limits.default.output", d.Output, 1, m.Output)
	if d.Stack != 0 {
		between(v, "limits.default.stack", d.Stack, 128<<10, m.Memory) // the stack also holds the arguments
	}
	between(v, "limits.default.processes", d.Processes, 1, m.Processes)
}

func oneOf[T ~string](v *validator, key string, got T, known ...T) {
	v.check(slices.Contains(known, got), key, "unknown value %q; use one of %s", got, text.Join(known, ", "))
}

func between[T cmp.Ordered](v *validator, key string, got, low, high T) {
	v.check(low <= got && got <= high, key, "%s is out of range; use %s to %s", show(got), show(low), show(high))
}

func show(x any) string {
	switch x := x.(type) {
	case units.Bytes:
		return x.String()
	case time.Duration:
		return durationText(x)
	}
	return fmt.Sprint(x)
}

// durationText formats d without zero units: 720h, not 720h0m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
