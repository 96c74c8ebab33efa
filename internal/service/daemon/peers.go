package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/host/doctor"
	"judged/internal/host/hostfs"
)

// The daemons that share a database compare their settings: a job that one front refuses and another accepts, or
// reports that one front deletes, look random from outside.
const (
	peersEvery = time.Minute
	// peersAge is the time after which a daemon counts as ended.
	peersAge = 3 * peersEvery
	// peerValues is the prefix of the names under which daemons store their settings.
	peerValues = "front"
)

// peer is the data that a daemon stores about itself.
type peer struct {
	At       time.Time         `json:"at"`                // by the clock of the database
	Process  string            `json:"process,omitempty"` // differs if two daemons have the same name
	Settings map[string]string `json:"settings"`
}

// comparePeers stores the settings of this daemon and compares them with those of other daemons, until ctx is done.
func (d *daemon) comparePeers(ctx context.Context) {
	known, again, before := map[string]string{}, false, false
	for range poll.NowAndEvery(ctx, peersEvery) {
		var differ map[string][]string
		taken, err := d.announce(ctx, again)
		if err == nil {
			again = true
			differ, err = d.differingPeers(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.o.Log.Warn("cannot compare the settings with other fronts; retrying in a minute", "error", err)
		default:
			if taken && !before {
				d.o.Log.Error("another front of this database has the same name, so their settings cannot be compared; "+
					"give each one its own fleet.node", "front", d.holder())
			}
			before = taken
			n := len(differ)
			if taken {
				n++
			}
			d.metrics.Load().FrontsDiffer(n)
			for _, name := range slices.Sorted(maps.Keys(differ)) {
				if keys := strings.Join(differ[name], " "); known[name] != keys {
					d.o.Log.Warn("another front of this database has other settings; make them alike", "front", name,
						"settings", differ[name])
				}
			}
			known = map[string]string{}
			for name, keys := range differ {
				known[name] = strings.Join(keys, " ")
			}
		}
	}
}

// announce stores the settings of this daemon. With again, it reports whether another daemon has stored its own under the
// same name since the previous call.
func (d *daemon) announce(ctx context.Context, again bool) (taken bool, err error) {
	if again {
		var last peer
		found, err := d.store.Value(ctx, &last, peerValues, d.holder())
		if err != nil {
			return false, err
		}
		taken = found && last.Process != d.process
	}
	return taken, d.store.SetValue(ctx, d.asPeer(), peerValues, d.holder())
}

// sharesDatabase reports whether other daemons may use the same database.
func (d *daemon) sharesDatabase() bool { return d.registry != nil && d.o.Config.Database.URL != "" }

// doctor examines the host, if it judges, and the settings of the fronts, for GET /v1/doctor.
func (d *daemon) doctor(ctx context.Context) (api.DoctorReport, error) {
	if d.judges() {
		if err := d.health.examine(ctx); err != nil {
			return api.DoctorReport{}, err
		}
	}
	return d.latestDoctor(ctx)
}

// latestDoctor returns the latest report of the host, if it judges, with the settings of the fronts.
func (d *daemon) latestDoctor(ctx context.Context) (r api.DoctorReport, err error) {
	if d.judges() {
		r = d.health.report()
	} else if r, err = doctor.Front(ctx, hostfs.New("/")); err != nil {
		return r, err
	}
	r.Version = d.o.Version
	if d.sharesDatabase() {
		differ, err := d.differingPeers(ctx)
		if err != nil {
			return r, err
		}
		r.Checks = slices.Clone(r.Checks)
		doctor.AddFronts(&r, differ)
	}
	return r, nil
}

// asPeer returns the data of this daemon. Of files it has what is in force: a front that was not reloaded accepts a token
// that was revoked.
func (d *daemon) asPeer() peer {
	all := d.config.Load().Shared()
	all["http.token_file"] = d.api.Load().TokenDigest()
	all["callbacks.secret_file"] = d.callbacks.SecretDigest()
	all["languages.file"] = fmt.Sprint(d.o.Engine.Languages.Catalogue.Factors()) // in the order of their IDs
	return peer{At: d.store.Now(), Process: d.process, Settings: all}
}

// differingPeers returns the keys whose values differ on other daemons, by the names of those daemons. It changes
// nothing, because GET requests call it.
func (d *daemon) differingPeers(ctx context.Context) (map[string][]string, error) {
	own, holder := d.asPeer(), d.holder()
	differ := map[string][]string{}
	err := d.store.Values(ctx, func(name string, value []byte) error {
		var other peer
		if err := json.Unmarshal(value, &other); err != nil {
			return err
		}
		keys := differingKeys(own.Settings, other.Settings)
		if name != holder && own.At.Sub(other.At) < peersAge && len(keys) > 0 {
			differ[name] = keys
		}
		return nil
	}, peerValues)
	return differ, err
}

// differingKeys returns the keys whose values differ, or that one side lacks. A daemon of another version may have
// other keys.
func differingKeys(a, b map[string]string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	maps.DeleteFunc(all, func(key, _ string) bool {
		x, inA := a[key]
		y, inB := b[key]
		return inA && inB && x == y
	})
	return slices.Sorted(maps.Keys(all))
}
